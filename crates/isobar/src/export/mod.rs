//! Converts a recording for other tools: CSV or Parquet with a row for each thread and epoch, or a
//! trace for Perfetto's UI.

mod csv;
mod parquet;
mod perfetto;
mod rows;
mod schema;

use crate::past::Past;
use std::io::Write;

/// Writes all epochs in one of the formats. Returns how many epochs there were.
///
/// # Errors
/// A damaged recording, and errors of the writer.
pub fn write(past: &mut Past, format: Format, to: impl Write + Send) -> anyhow::Result<u64> {
    match format {
        Format::Csv => csv::write(past, to),
        Format::Parquet => parquet::write(past, to),
        Format::Perfetto => perfetto::write(past, to),
    }
}

/// The formats that a recording can be converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text with one row for each thread and epoch
    Csv,
    /// The same rows stored by column, for data frames
    Parquet,
    /// A trace for Perfetto's UI (ui.perfetto.dev): tracks of threads, counters, and actions as
    /// events
    Perfetto,
}

impl Format {
    /// The format that the end of a file name stands for.
    pub fn of(ending: &str) -> Option<Self> {
        match ending {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            "pftrace" | "perfetto-trace" => Some(Self::Perfetto),
            _ => None,
        }
    }
}
