//! A recording for other tools: a row a thread and epoch as CSV or Parquet, or a trace that
//! Perfetto's UI opens.

mod csv;
mod parquet;
mod perfetto;
mod rows;
mod schema;

use crate::past::Past;
use std::io::Write;

/// Writes all epochs in one of the formats; how many there were.
///
/// # Errors
/// A damaged recording, and what writing says.
pub fn write(past: &mut Past, format: Format, to: impl Write + Send) -> anyhow::Result<u64> {
    match format {
        Format::Csv => csv::write(past, to),
        Format::Parquet => parquet::write(past, to),
        Format::Perfetto => perfetto::write(past, to),
    }
}

/// What a recording can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text, with a line for each thread and epoch
    Csv,
    /// The same as columns, for data frames
    Parquet,
    /// A trace for Perfetto's UI (ui.perfetto.dev): lanes, counters, actions as events
    Perfetto,
}

impl Format {
    /// What the end of a file's name says.
    pub fn of(ending: &str) -> Option<Self> {
        match ending {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            "pftrace" | "perfetto-trace" => Some(Self::Perfetto),
            _ => None,
        }
    }
}
