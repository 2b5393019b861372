//! A file of a user's own programs: TOML with `[[program]]` sections, as in a workload, or a
//! measured table as CSV. This module takes text and picks one program; the caller reads the file.

use super::{Library, Program};
use crate::error::SimError;
use isobar_profiles::table;
use serde::Deserialize;

/// The machine on which tables are assumed to be measured, unless stated otherwise: the Gold 6138
/// of the published tables.
const MEASURED_ON: &str = "skylake-2x20";

/// A file of programs, not read yet.
#[derive(Clone, Copy, Debug)]
pub struct ProgramFile<'a> {
    /// Its name. A name that ends in `.csv` means a measured table.
    pub path: &'a str,
    /// Its content.
    pub text: &'a str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections {
    #[serde(default)]
    program: Vec<Program>,
}

impl ProgramFile<'_> {
    /// The program with a name, or the only program if no name is given; `measured_on` is the
    /// shipped machine on which a table was measured.
    ///
    /// # Errors
    /// [`SimError`], one line, for anything that is wrong.
    pub fn program(&self, name: Option<&str>, measured_on: Option<&str>) -> Result<Program, SimError> {
        if self.path.to_ascii_lowercase().ends_with(".csv") {
            self.measured(name, measured_on.unwrap_or(MEASURED_ON))
        } else {
            self.described(name)
        }
    }

    /// The names of all programs of the file, ascending.
    ///
    /// # Errors
    /// [`SimError`], one line, for anything that is wrong.
    pub fn names(&self) -> Result<Vec<String>, SimError> {
        if self.path.to_ascii_lowercase().ends_with(".csv") {
            return Ok(table::read(self.path, self.text)?.into_keys().collect());
        }
        Ok(self.sections()?.names().map(str::to_owned).collect())
    }

    fn measured(&self, name: Option<&str>, machine: &str) -> Result<Program, SimError> {
        let table = table::read(self.path, self.text)?;
        let names: Vec<_> = table.keys().map(String::as_str).collect();
        let known = crate::machine::shipped();
        if !known.contains(&machine) {
            return Err(SimError::unknown(self.path, "measured_on", "machine", machine, &known));
        }
        let name = self.one(name, &names)?;
        let machine = crate::machine::find(machine)?;
        let unknown = || SimError::unknown(self.path, "BENCH", "program", name, &names);
        Program::measured(self.path, table.get(name).ok_or_else(unknown)?, &machine)
    }

    fn described(&self, name: Option<&str>) -> Result<Program, SimError> {
        let library = self.sections()?;
        let names: Vec<_> = library.names().collect();
        library.find(self.path, "program", self.one(name, &names)?).map(|program| Program::clone(&program))
    }

    fn sections(&self) -> Result<Library, SimError> {
        let read: Sections = crate::error::parse(self.path, self.text)?;
        if read.program.is_empty() {
            return Err(SimError::value(self.path, "program", "is missing: describe at least one [[program]]"));
        }
        let mut library = Library::default();
        library.add(self.path, read.program)?;
        Ok(library)
    }

    /// The requested name, or the only one in the file.
    fn one<'a>(&self, name: Option<&'a str>, names: &[&'a str]) -> Result<&'a str, SimError> {
        match (name, names) {
            (Some(name), _) => Ok(name),
            (None, [only]) => Ok(only),
            (None, _) => {
                let problem = format!("must be named: this file has {} programs, such as {}", names.len(), names[0]);
                Err(SimError::value(self.path, "program", problem))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[program]]\nname = \"a\"\ninstructions_billion = 1\nbase_cpi = 1\nmpki = { streaming \
                       = 1, reuse = 1, half_mib = 1 }\nmlp = 1\nwrite_back = 0\nfootprint_mib = 1\n";

    fn message(path: &str, text: &str, name: Option<&str>, machine: Option<&str>) -> String {
        let error = ProgramFile { path, text }.program(name, machine).unwrap_err().to_string();
        assert!(error.starts_with(path) && !error.contains(char::is_control), "{error}");
        error
    }

    #[test]
    fn the_only_program_needs_no_name() {
        let file = ProgramFile { path: "p.toml", text: ONE };
        assert_eq!(file.program(None, None).unwrap().name, "a");
        assert_eq!(file.program(Some("a"), None), file.program(None, None));
        assert_eq!(file.names().unwrap(), ["a"]);
        let two = format!("{ONE}{}", ONE.replace("\"a\"", "\"b\""));
        assert!(message("p.toml", &two, None, None).contains("must be named: this file has 2 programs, such as a"));
        assert!(message("p.toml", &two, Some("c"), None).contains("unknown program `c`"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(message("p.toml", "", None, None).contains("at least one [[program]]"));
        assert!(message("p.toml", &ONE.replace("mlp = 1", "mlp = 0"), None, None).contains("`a.mlp` is 0"));
        let phase = format!("{ONE}[[program.phase]]\ninstructions_billion = 0\nmpki_factor = 1\n");
        assert!(
            message("p.toml", &phase, None, None)
                .contains("`a.phase.instructions_billion` is 0; it must be from 0.001")
        );
        let curve = "mpki = { way_mib = 2.5, by_ways = [3, -1] }";
        let measured = ONE.replace("mpki = { streaming = 1, reuse = 1, half_mib = 1 }", curve);
        assert!(message("p.toml", &measured, None, None).contains("`a.mpki.by_ways` is -1"));
        let both = ONE.replace("half_mib = 1", "by_ways = [1]");
        assert!(message("p.toml", &both, None, None).contains("a miss curve is either"));
        assert!(message("p.csv", "BENCH\n", None, None).contains("line 1: column `NR_WAYS` is missing"));
        let table = format!("{}\nastar,1,1,0,0,0,0,0,0,0,0,0,0,0\n", table::COLUMNS.join(","));
        assert_eq!(ProgramFile { path: "p.csv", text: &table }.program(None, None).unwrap().name, "astar");
        assert!(message("p.csv", &table, Some("atsar"), None).contains("`BENCH` names unknown program `atsar`"));
    }
}
