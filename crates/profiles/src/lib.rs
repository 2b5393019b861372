//! Reads programs over ways from files: measured tables in CSV ([`table`]), curves in TOML or JSON,
//! and observations of a running machine in JSON lines. All become [`isobar_model::Profile`]s. The
//! simulator, static models and studies share them, so the readers are a layer below all of these.
//! The crate takes text and does not know which questions are asked about the programs. It is pure.

#![forbid(unsafe_code)]

mod curves;
mod error;
mod observed;
mod oddities;
mod profiles;
pub mod table;

pub use error::ReadError;
pub use profiles::Profiles;

/// Reads a file in the format that its name's ending says: `.csv` a measured table, `.jsonl`
/// observations, one per line, otherwise curves in TOML (`.json`: the same in JSON). `file` is only
/// used in messages.
///
/// # Errors
/// [`ReadError`], one line that names the file, the place and what would be right.
pub fn read(file: &str, text: &str) -> Result<Profiles, ReadError> {
    let ends = |end: &str| file.to_ascii_lowercase().ends_with(end);
    if ends(".csv") {
        table::profiles(file, text)
    } else if ends(".jsonl") {
        observed::read(file, text)
    } else {
        curves::read(file, text, ends(".json"))
    }
}

#[cfg(test)]
mod tests;
