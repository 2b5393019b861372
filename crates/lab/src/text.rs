//! Names of programs and policies as cells of a table.

/// The first characters of a name; control characters, which a program's name may hold, are shown
/// as `?`.
pub(crate) fn short(name: &str, most: usize) -> String {
    name.chars().take(most).map(|c| if c.is_control() { '?' } else { c }).collect()
}
