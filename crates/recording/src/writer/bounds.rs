//! Limits the size of a recording: the oldest epochs are dropped, from key frame to key frame.

use crate::moment::Moment;
use isobar_model::Seconds;
use rusqlite::{OptionalExtension, Transaction, params};

/// How much of a recording is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Bytes of the file. The size of about a minute may come on top.
    pub bytes: Option<u64>,
    /// Age of the oldest epoch.
    pub age: Option<Seconds>,
    /// Number of processes, and of threads, that have rows in an epoch: the busiest. Frames contain
    /// all.
    pub rows: usize,
}

impl Default for Bounds {
    /// A gigabyte, which is half a day of a thousand threads, and rows for the fifty busiest.
    fn default() -> Self {
        Self { bytes: Some(1 << 30), age: None, rows: 50 }
    }
}

/// Tables with one or more rows per epoch.
const BY_EPOCH: [(&str, &str); 12] = [
    ("epoch", "number"),
    ("frame", "epoch"),
    ("process_epoch", "epoch"),
    ("pages", "epoch"),
    ("thread_epoch", "epoch"),
    ("node_epoch", "epoch"),
    ("latency", "epoch"),
    ("action", "epoch"),
    ("undo", "epoch"),
    ("note", "epoch"),
    ("prediction", "epoch"),
    ("effect", "epoch"),
];

/// Drops the oldest epochs until the rest is within bounds, but no epoch since the last key frame.
/// Returns whether any was dropped.
pub fn keep_within(transaction: &Transaction<'_>, bounds: Bounds, now: &Moment) -> rusqlite::Result<bool> {
    let mut dropped = false;
    while let Some(next) = second_key(transaction)?.filter(|(epoch, _)| *epoch < now.number) {
        let (epoch, seconds) = next;
        let too_old = bounds.age.is_some_and(|age| now.sample.time.0 - seconds > age.0);
        let used = used(transaction)?;
        let too_large = bounds.bytes.is_some_and(|most| used > most);
        if !too_old && !too_large {
            break;
        }
        drop_before(transaction, epoch)?;
        dropped = true;
    }
    if dropped {
        drop_unnamed(transaction)?;
    }
    Ok(dropped)
}

/// The second key frame, which would be the first one left.
fn second_key(transaction: &Transaction<'_>) -> rusqlite::Result<Option<(u64, f64)>> {
    let query = "SELECT frame.epoch, epoch.seconds FROM frame JOIN epoch ON epoch.number = frame.epoch \
                 WHERE is_key ORDER BY frame.epoch LIMIT 1 OFFSET 1";
    transaction.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Bytes of database pages in use. Pages of dropped epochs are reused.
fn used(transaction: &Transaction<'_>) -> rusqlite::Result<u64> {
    let pragma = |name: &str| transaction.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, u64>(0));
    Ok((pragma("page_count")?.saturating_sub(pragma("freelist_count")?)).saturating_mul(pragma("page_size")?))
}

fn drop_before(transaction: &Transaction<'_>, epoch: u64) -> rusqlite::Result<()> {
    for (table, column) in BY_EPOCH {
        transaction.execute(&format!("DELETE FROM {table} WHERE {column} < ?"), params![epoch])?;
    }
    Ok(())
}

/// Drops processes and threads without any row left.
fn drop_unnamed(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM thread WHERE id NOT IN (SELECT thread FROM thread_epoch)", [])?;
    transaction.execute(
        "DELETE FROM process WHERE id NOT IN (SELECT process FROM process_epoch UNION SELECT process FROM thread)",
        [],
    )?;
    Ok(())
}
