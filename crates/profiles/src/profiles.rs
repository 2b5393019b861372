//! The programs of a study: each a table over ways 1 to W, from a measured CSV table, from curves in TOML or JSON, from observations of a
//! running machine, or from the simulator's programs run alone. It takes text, and refuses to know what is asked about the programs.

mod curves;
mod library;
mod observed;
mod oddities;

use super::error::StudyError;
use super::queueing;
use isobar_partition::{Profile, Row};
use isobar_sim::program::csv::{self, MeasuredTable};
use isobar_sim::{MachineSpec, Program};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What `--profiles` may begin with to name a machine of the simulator instead of a file.
pub const MACHINE: &str = "machine:";

/// Programs by name.
#[derive(Clone, Debug)]
pub struct Profiles {
    file: String,
    programs: BTreeMap<String, Entry>,
    /// What is worth telling about the whole file.
    notes: Vec<String>,
}

#[derive(Clone, Debug)]
struct Entry {
    profile: Profile,
    source: Source,
}

/// What the queueing model can be made from.
#[derive(Clone, Debug)]
enum Source {
    /// A measured table of this program.
    Table(Arc<MeasuredTable>),
    /// The simulator's own program.
    Program(Arc<Program>),
    /// Slowdowns only: how many instructions a cycle that is, nobody knows.
    Relative,
}

impl Profiles {
    /// Reads a file by the end of its name: `.csv` the measured table, `.jsonl` observations, one a line, else curves in TOML (`.json`:
    /// the same in JSON).
    ///
    /// # Errors
    /// [`StudyError`], one line, for anything that is not right.
    pub fn from_text(file: &str, text: &str) -> Result<Self, StudyError> {
        let ends = |end: &str| file.to_ascii_lowercase().ends_with(end);
        if ends(".csv") {
            Self::from_table(file, text)
        } else if ends(".jsonl") {
            observed::read(file, text)
        } else {
            curves::read(file, text, ends(".json"))
        }
    }

    /// The simulator's programs, each run alone on a machine that ships with every number of its ways.
    ///
    /// # Errors
    /// [`StudyError::Sim`] for a machine that does not ship.
    pub fn of_machine(name: &str) -> Result<Self, StudyError> {
        library::on_machine(name)
    }

    fn from_table(file: &str, text: &str) -> Result<Self, StudyError> {
        let table = Arc::new(MeasuredTable::parse(file, text)?);
        let all = || table.names().filter_map(|name| table.rows(name)).flatten();
        let monitored = all().any(|row| row.bandwidth_mbps > 0.0);
        let by_misses = !monitored && all().any(|row| row.llcm_bandwidth > 0.0);
        let mut programs = BTreeMap::new();
        for name in table.names() {
            let rows = table.rows(name).unwrap_or_default();
            let profile = profile(file, name, rows.iter().map(|row| figures(row, by_misses)).collect())?;
            programs.insert(name.to_owned(), Entry { profile, source: Source::Table(Arc::clone(&table)) });
        }
        let notes = if by_misses {
            vec!["the column bandwidth_mbps is 0 throughout: bandwidth is taken from llcm_bandwidth".to_owned()]
        } else if monitored {
            vec![]
        } else {
            vec!["the columns bandwidth_mbps and llcm_bandwidth are 0 throughout: no bandwidth is known".to_owned()]
        };
        Ok(Self { file: file.to_owned(), programs, notes })
    }

    /// What the caller calls the file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The programs' names, ascending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.keys().map(String::as_str)
    }

    /// A program's table.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        Some(&self.programs.get(name)?.profile)
    }

    /// The greatest way count of any program.
    #[must_use]
    pub fn ways(&self) -> usize {
        self.programs.values().map(|entry| entry.profile.ways()).max().unwrap_or_default()
    }

    /// A program for the queueing model; `machine` is the one that a table was measured on.
    ///
    /// # Errors
    /// [`StudyError`] for a program that is not there, that has slowdowns only, or a table with more ways than the machine.
    pub fn program(&self, name: &str, machine: &MachineSpec) -> Result<Arc<Program>, StudyError> {
        match self.programs.get(name).map(|entry| &entry.source) {
            Some(Source::Program(program)) => Ok(Arc::clone(program)),
            Some(Source::Table(table)) => {
                let (rows, ways) = (table.rows(name).map_or(0, <[_]>::len), queueing::ways_of(machine).unwrap_or(0));
                if rows > ways {
                    let problem = format!(
                        "`{name}` goes to {rows} ways; the LLC of the machine has {ways}: name the machine of the measurement \
                         with --machine NAME"
                    );
                    return Err(StudyError::file(&self.file, problem));
                }
                Ok(Arc::new(table.program(name, machine)?))
            }
            Some(Source::Relative) => Err(StudyError::file(
                &self.file,
                format!(
                    "`{name}` has slowdowns only, of which the queueing model cannot tell cycles from misses: give `ipc` and `llcmpki`, \
                     or take --model pbbcache-simple"
                ),
            )),
            None => Err(StudyError::file(&self.file, super::workloads::unknown(name, self))),
        }
    }

    /// What is worth telling about the tables of the given programs, where `ways` ways are asked of them; one line each.
    #[must_use]
    pub fn remarks(&self, names: &[&str], ways: usize) -> Vec<String> {
        let own = self.notes.iter().cloned();
        let entries: Vec<&Profile> = names.iter().filter_map(|name| self.profile(name)).collect();
        own.chain(oddities::all(&entries, ways)).map(|remark| format!("{}: {remark}", self.file)).collect()
    }
}

/// What the static models use of a measured row.
fn figures(row: &csv::Row, by_misses: bool) -> Row {
    Row {
        ipc: row.ipc,
        llcmpki: row.llcmpki,
        llcmpkc: row.llcmpkc,
        bandwidth_mbps: if by_misses { row.llcm_bandwidth } else { row.bandwidth_mbps },
        stalls_total: row.stalls_total,
        stalls_l3_miss: row.stalls_l3_miss,
        stalls_store_buf: row.stalls_store_buf,
    }
}

fn profile(file: &str, name: &str, rows: Vec<Row>) -> Result<Profile, StudyError> {
    Profile::new(name, rows).map_err(|error| StudyError::file(file, error.to_string()))
}

#[cfg(test)]
mod tests;
