//! The programs that ship, each with its suite and the machine of its paper, and the programs that
//! a workload adds.

use super::Program;
use crate::error::SimError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

macro_rules! shipped_file {
    ($name:literal) => {
        (concat!($name, ".toml"), include_str!(concat!("../../programs/", $name, ".toml")))
    };
}

const FILES: [(&str, &str); 12] = [
    shipped_file!("spec-cpu2006"),
    shipped_file!("spec-cpu2006-gold"),
    shipped_file!("spec-cpu2017"),
    shipped_file!("spec-mpi2007"),
    shipped_file!("spec-omp"),
    shipped_file!("spec-omp2012"),
    shipped_file!("nas-omp"),
    shipped_file!("nas-serial"),
    shipped_file!("parsec"),
    shipped_file!("rodinia"),
    shipped_file!("graphs-java-mantevo"),
    shipped_file!("parallel"),
];

/// Programs by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library(BTreeMap<String, Arc<Program>>);

/// A file of programs that ship.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The benchmark suite, or what else the programs have in common.
    pub suite: String,
    /// The shipped machine on which the papers ran them.
    pub machine: String,
    /// Its programs.
    pub program: Vec<Program>,
}

impl Library {
    /// Adds programs; a program with a known name replaces the old one.
    ///
    /// # Errors
    /// [`SimError::Value`] for an impossible value.
    pub fn add(&mut self, file: &str, programs: Vec<Program>) -> Result<(), SimError> {
        programs.into_iter().try_for_each(|program| {
            program.validate(file)?;
            self.0.insert(program.name.clone(), Arc::new(program));
            Ok(())
        })
    }

    /// A program by name; `file` and `key` say where the name stands, for errors.
    ///
    /// # Errors
    /// [`SimError::Unknown`] with similar names.
    pub fn find(&self, file: &str, key: &str, name: &str) -> Result<Arc<Program>, SimError> {
        let known = || self.names().collect::<Vec<_>>();
        self.0.get(name).cloned().ok_or_else(|| SimError::unknown(file, key, "program", name, &known()))
    }

    /// All names, ascending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The programs that ship, by name.
///
/// # Errors
/// Never for the shipped files; a test reads them.
pub fn shipped() -> Result<Library, SimError> {
    let mut library = Library::default();
    for (file, text) in FILES {
        library.add(file, crate::error::parse::<Suite>(file, text)?.program)?;
    }
    Ok(library)
}

/// The programs that ship, file by file.
///
/// # Errors
/// Never for the shipped files; a test reads them.
pub fn suites() -> Result<Vec<Suite>, SimError> {
    FILES.iter().map(|(file, text)| crate::error::parse(file, text)).collect()
}

/// The text of a program that ships, with the source of every number: from the comment above its
/// section to the end of the section.
#[must_use]
pub fn text(name: &str) -> Option<String> {
    let head = format!("name = \"{name}\"");
    let sections = FILES.iter().flat_map(|(_, text)| text.split("\n\n"));
    let mut found = sections.filter(|section| section.lines().any(|line| line == head));
    found.next().map(|section| section.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_program_is_named_with_its_neighbours() {
        let error = shipped().unwrap().find("w.toml", "app.program", "mlic").unwrap_err().to_string();
        assert_eq!(error, "w.toml: `app.program` names unknown program `mlic`; did you mean milc?");
    }

    #[test]
    fn every_program_has_a_name_of_its_own_a_known_machine_and_sources() {
        let suites = suites().unwrap();
        let count: usize = suites.iter().map(|suite| suite.program.len()).sum();
        assert_eq!(count, shipped().unwrap().names().count(), "a name occurs twice");
        let unknown: Vec<_> = suites.iter().filter(|suite| crate::machine::find(&suite.machine).is_err()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert!(suites.iter().flat_map(|suite| &suite.program).all(|program| text(&program.name).is_some()));
        assert!(text("mcf").unwrap().starts_with("# The outlier") && text("mcf").unwrap().ends_with("DINO 5.2"));
        for (file, text) in FILES {
            let numbers = text.lines().zip(std::iter::once("").chain(text.lines()));
            let bare = |line: &str, before: &str| {
                line.contains(" = ") && !line.contains('"') && !format!("{line}{before}").contains('#')
            };
            numbers.for_each(|(line, before)| assert!(!bare(line, before), "{file}: `{line}` has no source"));
        }
    }
}
