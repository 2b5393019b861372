//! Lists of processes as they are typed.

use crate::selection::Pattern;

/// Checks that names can match something.
///
/// # Errors
/// Which list has a name that cannot, and what is expected.
pub fn named(list: &str, names: &[String]) -> Result<(), String> {
    names.iter().try_for_each(|name| Pattern::check(name)).map_err(|why| format!("{list}: {why}"))
}
