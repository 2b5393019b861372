//! Names of programs and policies as cells of a table.

/// The first `most` characters of a name. Control characters, which a program's name may contain,
/// are shown as `?`.
pub(crate) fn short(name: &str, most: usize) -> String {
    name.chars().take(most).map(|c| if c.is_control() { '?' } else { c }).collect()
}
