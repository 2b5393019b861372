//! Lists of processes as they are typed.

use crate::selection::Pattern;

/// Names that can fit something.
///
/// # Errors
/// Which list has one that cannot, and what would be right.
pub fn named(list: &str, names: &[String]) -> Result<(), String> {
    names.iter().try_for_each(|name| Pattern::check(name)).map_err(|why| format!("{list}: {why}"))
}
