//! The programs that ship, and those that a workload file adds.

use super::Program;
use crate::error::SimError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

const SPEC: &str = include_str!("../../programs/spec-cpu2006.toml");
const OTHERS: &str = include_str!("../../programs/parallel.toml");

/// Programs by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library(BTreeMap<String, Arc<Program>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    program: Vec<Program>,
}

impl Library {
    /// Adds programs; one of a known name replaces it.
    ///
    /// # Errors
    /// [`SimError::Value`] for a value that cannot be.
    pub fn add(&mut self, file: &str, programs: Vec<Program>) -> Result<(), SimError> {
        programs.into_iter().try_for_each(|program| {
            program.validate(file)?;
            self.0.insert(program.name.clone(), Arc::new(program));
            Ok(())
        })
    }

    /// A program by name; `file` and `key` say where it was asked for.
    ///
    /// # Errors
    /// [`SimError::Unknown`] with names that come near.
    pub fn find(&self, file: &str, key: &str, name: &str) -> Result<Arc<Program>, SimError> {
        let known = || self.names().collect::<Vec<_>>();
        self.0.get(name).cloned().ok_or_else(|| SimError::unknown(file, key, "program", name, &known()))
    }

    /// All names, ascending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The programs that ship.
///
/// # Errors
/// Never for the files as they ship; a test reads them.
pub fn shipped() -> Result<Library, SimError> {
    let mut library = Library::default();
    for (file, text) in [("spec-cpu2006.toml", SPEC), ("parallel.toml", OTHERS)] {
        let programs: File = crate::error::parse(file, text)?;
        library.add(file, programs.program)?;
    }
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Solo misses per 1000 instructions in the 2 MB of Barcelona, as the DINO paper classes them (section 2.1).
    #[test]
    fn solo_classes_are_the_papers() {
        let library = shipped().unwrap();
        let solo = |name: &str| library.find("", "", name).unwrap().mpki.misses(2.0 * 1_048_576.0) * 1000.0;
        for devil in ["mcf", "omnetpp", "milc", "lbm", "soplex", "leslie3d"] {
            assert!((15.0..100.0).contains(&solo(devil)), "{devil} {}", solo(devil));
        }
        for soft in ["gcc", "bwaves", "bzip2"] {
            assert!((2.0..15.0).contains(&solo(soft)), "{soft} {}", solo(soft));
        }
        for turtle in ["povray", "calculix", "h264ref", "gamess", "namd"] {
            assert!(solo(turtle) < 2.0, "{turtle} {}", solo(turtle));
        }
    }

    #[test]
    fn a_misspelt_program_is_named_with_its_neighbours() {
        let error = shipped().unwrap().find("w.toml", "app.program", "mlic").unwrap_err().to_string();
        assert_eq!(error, "w.toml: `app.program` names unknown program `mlic`; did you mean milc?");
    }
}
