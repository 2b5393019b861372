//! Writes rows as CSV (RFC 4180), with a header line.

use super::rows;
use crate::past::Past;
use std::io::Write;

/// Writes all rows.
///
/// # Errors
/// A damaged recording, and errors of the writer.
pub fn write(past: &mut Past, to: impl Write) -> anyhow::Result<u64> {
    let mut table = ::csv::Writer::from_writer(to);
    let (mut epochs, mut written) = (0, Ok(()));
    while past.next(&mut |moment| {
        epochs += 1;
        written = rows::of(moment).try_for_each(|row| table.serialize(row));
    })? {
        std::mem::replace(&mut written, Ok(()))?;
    }
    table.flush()?;
    Ok(epochs)
}
