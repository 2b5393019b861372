//! Programs over ways, as files have them: measured tables in CSV ([`table`]), curves in TOML or
//! JSON, observations of a running machine in JSON lines. All become [`isobar_model::Profile`]s,
//! which the simulator, static models and studies share; that is why the readers stand below all of
//! them. Takes text, and refuses to know what is asked about the programs. Pure.

#![forbid(unsafe_code)]

mod curves;
mod error;
mod observed;
mod oddities;
mod profiles;
pub mod table;

pub use error::ReadError;
pub use profiles::Profiles;

/// Reads a file by the end of its name: `.csv` a measured table, `.jsonl` observations, one a line,
/// else curves in TOML (`.json`: the same in JSON). `file` is only named in messages.
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
