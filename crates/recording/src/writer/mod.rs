//! Writes a recording, with one transaction per epoch. Whatever ends the writer, the file still
//! opens, and its last epoch is complete or absent.

mod bounds;
mod decision;
mod ids;
mod rows;

pub use bounds::Bounds;

use crate::error::RecordingError;
use crate::frame::{self, State};
use crate::moment::Moment;
use ids::Ids;
use isobar_model::{Observation, Sample, num};
use rusqlite::{Connection, Transaction, params};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The format of the file, stored as `PRAGMA user_version`.
pub const FORMAT: i64 = 1;
/// Marks a file as a recording of isobar, stored as `PRAGMA application_id`: `isob`.
pub const APPLICATION: i64 = 0x6973_6f62;

/// Number of epochs from one key frame to the next. This is how much is dropped at once if a
/// recording is bounded, and the most that must be read to reach an epoch.
const KEY_EVERY: u64 = 60;

const SCHEMA: &str = include_str!("../schema.sql");

/// What is known of a recording before its first epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Facts by name; [`crate::about`] lists isobar's.
    pub facts: BTreeMap<String, String>,
    /// Settings files, by path as it was given.
    pub inputs: BTreeMap<String, String>,
}

/// A recording that is being written.
pub struct Writer {
    path: PathBuf,
    connection: Connection,
    bounds: Bounds,
    state: State,
    ids: Ids,
    since_key: u64,
    last: Option<Sample>,
}

impl Writer {
    /// Creates the file, readable only for its owner, because names of processes are private.
    ///
    /// # Errors
    /// An error if the file exists already, or cannot be created.
    pub fn create(path: &Path, about: &About, bounds: Bounds) -> Result<Self, RecordingError> {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        made.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => RecordingError::Exists(path.to_owned()),
            _ => RecordingError::File { path: path.to_owned(), error },
        })?;
        let prepared = prepared(path, about).map_err(RecordingError::sqlite(path));
        if prepared.is_err() {
            // A file that is not a recording would only be in the way.
            let _ = std::fs::remove_file(path);
        }
        let connection = prepared?;
        Ok(Self {
            path: path.to_owned(),
            connection,
            bounds,
            state: State::default(),
            ids: Ids::default(),
            since_key: 0,
            last: None,
        })
    }

    /// Writes one epoch. After an error, nothing of the epoch is in the file, and nothing more
    /// should be written.
    ///
    /// # Errors
    /// A full disk, or anything else that keeps SQLite from writing.
    pub fn write(&mut self, moment: &Moment) -> Result<(), RecordingError> {
        let is_key = self.since_key == 0;
        if is_key {
            self.state = State::default();
        }
        let data = frame::encode(&mut self.state, &moment.sample, &moment.managed)
            .map_err(RecordingError::frame(&self.path, moment.number))?;
        let seen = self.last.as_ref().map(|last| Observation::between(last, &moment.sample));
        self.insert(moment, seen.as_ref(), is_key, &data).map_err(RecordingError::sqlite(&self.path))?;
        self.last = Some(moment.sample.clone());
        self.since_key = (self.since_key + 1) % KEY_EVERY;
        Ok(())
    }

    fn insert(
        &mut self,
        moment: &Moment,
        seen: Option<&Observation>,
        is_key: bool,
        data: &[u8],
    ) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        insert_epoch(&transaction, moment, seen)?;
        transaction.prepare_cached("INSERT INTO frame VALUES (?, ?, ?)")?.execute(params![
            moment.number,
            is_key,
            data
        ])?;
        self.ids.keep(&moment.sample);
        let mut rows = rows::Rows { ids: &mut self.ids, most: self.bounds.rows };
        rows.insert(&transaction, moment, seen, self.last.as_ref())?;
        if let Some(decision) = &moment.decision {
            decision::insert(&transaction, moment.number, decision)?;
        }
        if is_key && bounds::keep_within(&transaction, self.bounds, moment)? {
            self.ids.keep_rows(&transaction)?;
        }
        transaction.commit()
    }

    /// Adds facts that are known only at the end, and merges what was written into one file.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn finish(self, facts: &BTreeMap<String, String>) -> Result<(), RecordingError> {
        let Self { path, connection, .. } = self;
        let close = |connection: Connection| -> rusqlite::Result<()> {
            add_facts(&connection, facts)?;
            connection.pragma_update(None, "journal_mode", "delete")?;
            connection.close().map_err(|(_, error)| error)
        };
        close(connection).map_err(RecordingError::sqlite(&path))
    }
}

#[cfg(test)]
impl Writer {
    /// Behaves as if the disk were full after this number of pages.
    pub fn allow_pages(&self, most: i64) {
        let set = self.connection.query_row(&format!("PRAGMA max_page_count = {most}"), [], |row| row.get::<_, i64>(0));
        assert_eq!(set, Ok(most));
    }
}

fn prepared(path: &Path, about: &About) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.set_prepared_statement_cache_capacity(32);
    // With a write-ahead log, readers can read the file while it grows, and no write waits for the
    // disk.
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    add_facts(&transaction, &about.facts)?;
    for (path, content) in &about.inputs {
        transaction.execute("INSERT INTO input VALUES (?, ?)", params![path, content])?;
    }
    transaction.commit()?;
    Ok(connection)
}

fn add_facts(connection: &Connection, facts: &BTreeMap<String, String>) -> rusqlite::Result<()> {
    for (key, value) in facts {
        connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", params![key, value])?;
    }
    Ok(())
}

fn insert_epoch(transaction: &Transaction<'_>, moment: &Moment, seen: Option<&Observation>) -> rusqlite::Result<()> {
    let Moment { number, wall_time, sample, managed, decision } = moment;
    let threads: usize = sample.processes.iter().map(|process| process.threads.len()).sum();
    let plan = decision.as_ref().map(|decision| decision::plan(&decision.plan));
    let outcome = decision.as_ref().and_then(|decision| decision.outcome.as_ref()).map(decision::outcome);
    transaction.prepare_cached("INSERT INTO epoch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?.execute(params![
        number,
        sample.time.0,
        seen.map_or(0.0, |seen| seen.interval.0),
        wall_time,
        num::narrow(sample.processes.len()),
        num::narrow(threads),
        num::narrow(managed.len()),
        decision.as_ref().and_then(|decision| decision.own_cpu).map(|used| used.0),
        plan,
        outcome,
    ])?;
    Ok(())
}
