//! Reads a recording, moment by moment, even while it is still being written.

use crate::error::RecordingError;
use crate::frame::{self, State};
use crate::moment::{Decision, Moment, TakenBack};
use crate::writer::{APPLICATION, FORMAT};
use isobar_model::wire::plan_from_json;
use isobar_model::{ActionId, Outcome, Seconds};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A recording that is open for reading.
pub struct Recording {
    path: PathBuf,
    connection: Connection,
    state: State,
    /// The epoch of the last frame that the state has gone through.
    at: Option<u64>,
    /// Whether actions have numbers; they do not in files of earlier versions.
    has_ids: bool,
}

/// One row, not decoded yet.
struct Raw {
    number: u64,
    wall_time: Option<f64>,
    own_cpu: Option<f64>,
    plan: Option<String>,
    outcome: Option<String>,
    is_key: bool,
    data: Vec<u8>,
}

impl Recording {
    /// Opens a recording.
    ///
    /// # Errors
    /// A file that is not a recording, has a later version, is empty, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        std::fs::metadata(path).map_err(|error| RecordingError::File { path: path.to_owned(), error })?;
        let connection = connection(path).map_err(RecordingError::sqlite(path))?;
        let mut recording =
            Self { path: path.to_owned(), connection, state: State::default(), at: None, has_ids: false };
        recording.check()?;
        recording.has_ids = recording.knows_undo()?;
        Ok(recording)
    }

    fn check(&self) -> Result<(), RecordingError> {
        let number = |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let sqlite = RecordingError::sqlite(&self.path);
        let (application, found) =
            (number("application_id").map_err(&sqlite)?, number("user_version").map_err(sqlite)?);
        if application != APPLICATION {
            return Err(RecordingError::NoRecording(self.path.clone()));
        }
        if found > FORMAT {
            return Err(RecordingError::Version { path: self.path.clone(), found, known: FORMAT });
        }
        if found < FORMAT || self.ends()?.is_none() {
            return Err(RecordingError::Empty(self.path.clone()));
        }
        Ok(())
    }

    fn knows_undo(&self) -> Result<bool, RecordingError> {
        let query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'undo'";
        let count = self.connection.query_row(query, [], |row| row.get::<_, i64>(0));
        count.map(|count| count > 0).map_err(RecordingError::sqlite(&self.path))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The connection, for SQL queries.
    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The facts about it, by name.
    ///
    /// # Errors
    /// An error if the file cannot be read.
    pub fn facts(&self) -> Result<BTreeMap<String, String>, RecordingError> {
        self.pairs("SELECT key, value FROM about")
    }

    /// The settings files, by path.
    ///
    /// # Errors
    /// An error if the file cannot be read.
    pub fn inputs(&self) -> Result<BTreeMap<String, String>, RecordingError> {
        self.pairs("SELECT path, content FROM input")
    }

    fn pairs(&self, query: &str) -> Result<BTreeMap<String, String>, RecordingError> {
        let read = || -> rusqlite::Result<_> {
            self.connection.prepare(query)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        read().map_err(RecordingError::sqlite(&self.path))
    }

    /// The first and the last epoch in the recording; `None` if it has none.
    ///
    /// # Errors
    /// An error if the file cannot be read.
    pub fn ends(&self) -> Result<Option<(u64, u64)>, RecordingError> {
        let query = "SELECT min(epoch), max(epoch) FROM frame";
        let read = |row: &Row<'_>| Ok(row.get::<_, Option<u64>>(0)?.zip(row.get(1)?));
        self.connection.query_row(query, [], read).map_err(RecordingError::sqlite(&self.path))
    }

    /// The next moment after the last one that was read, or the first. `None` at the end; a
    /// recording that is still being written may have one later.
    ///
    /// # Errors
    /// An error if the recording is damaged.
    pub fn next_moment(&mut self) -> Result<Option<Moment>, RecordingError> {
        let raw = match self.at {
            Some(at) => self.raw("WHERE frame.epoch > ? ORDER BY frame.epoch LIMIT 1", at)?,
            None => self.raw("WHERE frame.epoch >= ? AND is_key ORDER BY frame.epoch LIMIT 1", 0)?,
        };
        raw.map(|raw| self.understood(&raw)).transpose()
    }

    /// The moment of an epoch, or the last one before it. Reading continues from there.
    ///
    /// # Errors
    /// An error if the recording is damaged.
    pub fn moment_at(&mut self, epoch: u64) -> Result<Option<Moment>, RecordingError> {
        let sqlite = RecordingError::sqlite(&self.path);
        let latest = |query: &str, epoch: u64| -> Result<Option<u64>, rusqlite::Error> {
            self.connection.query_row(query, params![epoch], |row| row.get(0))
        };
        let Some(wanted) = latest("SELECT max(epoch) FROM frame WHERE epoch <= ?", epoch).map_err(&sqlite)? else {
            return Ok(None);
        };
        let key = latest("SELECT max(epoch) FROM frame WHERE is_key AND epoch <= ?", wanted).map_err(&sqlite)?;
        drop(sqlite);
        if self.at.is_none_or(|at| wanted <= at || key.is_some_and(|key| at < key)) {
            self.at = key.and_then(|key| key.checked_sub(1));
        }
        loop {
            match self.next_moment()? {
                Some(moment) if moment.number < wanted => {}
                found => return Ok(found),
            }
        }
    }

    fn raw(&self, rest: &str, epoch: u64) -> Result<Option<Raw>, RecordingError> {
        let query = format!(
            "SELECT frame.epoch, wall_time, own_cpu_seconds, plan, outcome, is_key, data FROM frame \
             JOIN epoch ON epoch.number = frame.epoch {rest}"
        );
        let read = || self.connection.prepare_cached(&query)?.query_row(params![epoch], Raw::read).optional();
        read().map_err(RecordingError::sqlite(&self.path))
    }

    fn understood(&mut self, raw: &Raw) -> Result<Moment, RecordingError> {
        if raw.is_key {
            self.state = State::default().of_the_machine_of(&self.state);
        }
        let (sample, managed) =
            frame::decode(&mut self.state, &raw.data).map_err(RecordingError::frame(&self.path, raw.number))?;
        self.at = Some(raw.number);
        let decision = raw.plan.as_deref().map(|plan| self.decision(raw, plan)).transpose()?;
        Ok(Moment { number: raw.number, wall_time: raw.wall_time, sample, managed, decision })
    }

    fn decision(&self, raw: &Raw, plan: &str) -> Result<Decision, RecordingError> {
        let wrong = |what: String| RecordingError::Decision { path: self.path.clone(), epoch: raw.number, what };
        let plan = plan_from_json(plan).map_err(|error| wrong(format!("plan: {error}")))?;
        let outcome = raw.outcome.as_deref().map(serde_json::from_str).transpose();
        let outcome = outcome.map_err(|error| wrong(format!("outcome: {error}")))?;
        let outcome = outcome.map(|actions| Outcome { actions });
        let (first_id, undone) = if self.has_ids { self.numbered(raw.number)? } else { (None, Vec::new()) };
        Ok(Decision { plan, outcome, own_cpu: raw.own_cpu.map(Seconds), first_id, undone })
    }

    /// The number of an epoch's first action, and what was taken back before the epoch.
    fn numbered(&self, epoch: u64) -> Result<(Option<ActionId>, Vec<TakenBack>), RecordingError> {
        let read = || -> rusqlite::Result<_> {
            let mut first = self.connection.prepare_cached("SELECT min(id) FROM action WHERE epoch = ?")?;
            let first = first.query_row(params![epoch], |row| row.get::<_, Option<u64>>(0))?;
            let mut undone = self.connection.prepare_cached("SELECT id, action, outcome FROM undo WHERE epoch = ?")?;
            let row = |row: &Row<'_>| Ok((row.get::<_, u64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
            let undone = undone.query_map(params![epoch], row)?.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((first, undone))
        };
        let (first, undone) = read().map_err(RecordingError::sqlite(&self.path))?;
        let wrong = |error: serde_json::Error| RecordingError::Decision {
            path: self.path.clone(),
            epoch,
            what: format!("undo: {error}"),
        };
        let taken = |(id, action, outcome): (u64, String, String)| -> serde_json::Result<TakenBack> {
            let (action, outcome) = (serde_json::from_str(&action)?, serde_json::from_str(&outcome)?);
            Ok(TakenBack { id: ActionId(id), action, outcome })
        };
        let undone = undone.into_iter().map(taken).collect::<serde_json::Result<_>>().map_err(wrong)?;
        Ok((first.map(ActionId), undone))
    }
}

impl Raw {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            wall_time: row.get(1)?,
            own_cpu: row.get(2)?,
            plan: row.get(3)?,
            outcome: row.get(4)?,
            is_key: row.get(5)?,
            data: row.get(6)?,
        })
    }
}

/// Opens the file for reading only. A writer that was killed may have left data that only a
/// connection with write access can clean up, so that access is tried next. If the folder is not
/// writable, the file is read as one that does not change.
fn connection(path: &Path) -> rusqlite::Result<Connection> {
    const READ: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
    const TIDY: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
    opened(Connection::open_with_flags(path, READ)).or_else(|error| match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly) => opened(Connection::open_with_flags(path, TIDY)),
        Some(ErrorCode::CannotOpen) => {
            let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            let address = format!("file:{escaped}?immutable=1");
            opened(Connection::open_with_flags(address, READ | OpenFlags::SQLITE_OPEN_URI))
        }
        _ => Err(error),
    })
}

/// Checks a connection by reading from it, because opening alone does not touch the file.
fn opened(connection: rusqlite::Result<Connection>) -> rusqlite::Result<Connection> {
    let connection = connection?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0))?;
    connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

/// How long a reader waits for a writer that is about to change the whole file.
const PATIENCE: Duration = Duration::from_secs(2);
