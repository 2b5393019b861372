//! The options that limit the size of a recording.

use super::options::positive_seconds;
use isobar_model::Seconds;
use isobar_recording::Bounds;

/// The limits of a recording.
#[derive(Clone, Debug, clap::Args)]
pub struct RecordOptions {
    /// Maximum size of the recording, in bytes or with K, M or G; beyond it, the oldest epochs are
    /// dropped
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes)]
    record_bytes: u64,
    /// Maximum length of the recording, in seconds
    #[arg(long, value_name = "S", value_parser = positive_seconds)]
    record_seconds: Option<f64>,
    /// Maximum number of processes, and of threads, that get rows for SQL in each epoch: the
    /// busiest; a replay sees all in any case
    #[arg(long, value_name = "N", default_value_t = Bounds::default().rows)]
    record_rows: usize,
}

impl RecordOptions {
    /// Converts the options to bounds.
    pub fn bounds(&self) -> Bounds {
        Bounds { bytes: Some(self.record_bytes), age: self.record_seconds.map(Seconds), rows: self.record_rows }
    }
}

/// The smallest useful limit, because a recording has tables before its first epoch.
const LEAST: u64 = 1 << 20;

fn bytes(text: &str) -> Result<u64, String> {
    let expected = || "expected at least 1M, such as 500M or 2G".to_owned();
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit {
        "" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return Err(expected()),
    };
    let number: u64 = digits.parse().map_err(|_| expected())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes >= LEAST).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("1048576"), Ok(1 << 20));
        assert_eq!((bytes("2048K"), bytes("500M"), bytes("2GiB")), (Ok(2 << 20), Ok(500 << 20), Ok(2 << 30)));
        for wrong in ["", "5", "1K", "M", "1.5G", "-3M", "1T", "99999999999G"] {
            assert!(bytes(wrong).unwrap_err().contains("such as 500M"), "{wrong}");
        }
    }
}
