//! SQL queries on a recording: what any SQL client could ask, without needing one. Queries only
//! read.

use crate::error::RecordingError;
use crate::reader::Recording;
use rusqlite::types::ValueRef;

/// The answer to a query, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// Each row has a value for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Not measured.
    Null,
    /// A count or a number.
    Integer(i64),
    /// A measure.
    Real(f64),
    /// Text or JSON; bytes that are not UTF-8 are replaced.
    Text(String),
    /// A frame.
    Bytes(Vec<u8>),
}

impl Recording {
    /// Runs a query in SQL (`schema.sql` has the tables). A query that would change the file is
    /// refused.
    ///
    /// # Errors
    /// An error of SQLite: a query that it does not understand, a damaged file.
    pub fn query(&self, query: &str) -> Result<Table, RecordingError> {
        let read = || -> rusqlite::Result<Table> {
            let connection = self.connection();
            connection.pragma_update(None, "query_only", true)?;
            let mut statement = connection.prepare(query)?;
            let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let row = |row: &rusqlite::Row<'_>| (0..columns.len()).map(|at| row.get_ref(at).map(Cell::of)).collect();
            let rows = statement.query_map([], row)?.collect::<rusqlite::Result<_>>()?;
            Ok(Table { columns, rows })
        };
        read().map_err(RecordingError::sqlite(self.path()))
    }

    /// The names of the tables and views that [`Recording::query`] can read.
    ///
    /// # Errors
    /// An error if the file cannot be read.
    pub fn tables(&self) -> Result<Vec<String>, RecordingError> {
        let found = self.query("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")?;
        let name = |row: Vec<Cell>| match row.into_iter().next() {
            Some(Cell::Text(name)) => Some(name),
            _ => None,
        };
        Ok(found.rows.into_iter().filter_map(name).collect())
    }
}

impl Cell {
    fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => Self::Text(String::from_utf8_lossy(bytes).into_owned()),
            ValueRef::Blob(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }
}
