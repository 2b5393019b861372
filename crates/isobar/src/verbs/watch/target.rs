//! Determines the machine that a verb runs on from what was typed.

use crate::failure::bad_input;
use isobar_model::Pid;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The machine to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// This machine.
    Linux,
    /// A simulated machine.
    Sim {
        /// the file of its workload
        workload: PathBuf,
        /// the seed of its random numbers
        seed: u64,
    },
    /// A recorded machine, to be looked at.
    Recording(PathBuf),
}

/// Seconds that a program has between two decisions if the machine does not run on meanwhile.
const STILL: f64 = 20.0;

impl Target {
    pub(super) fn parse(text: Option<&str>, seed: u64) -> anyhow::Result<Self> {
        match text.map(|text| text.strip_prefix("sim:").ok_or(text)) {
            None => Ok(Self::Linux),
            Some(Ok(file)) if !file.is_empty() => Ok(Self::Sim { workload: file.into(), seed }),
            Some(Err(file)) if Path::new(file).is_file() => Ok(Self::Recording(file.into())),
            Some(Ok(text) | Err(text)) => Err(bad_input(format!(
                "--machine {text}: expected sim:FILE, such as sim:workload.toml, or an existing recording"
            ))),
        }
    }

    /// The time between two decisions that a deciding program is given. A simulated machine stands
    /// still while it decides.
    pub(super) fn patience(&self, interval: f64) -> f64 {
        if *self == Self::Linux { interval } else { STILL }
    }

    /// Processes that are never managed: isobar itself. A simulated process may have the same id by
    /// chance.
    pub(super) fn never_managed(&self) -> BTreeSet<Pid> {
        if *self == Self::Linux { BTreeSet::from([Pid(std::process::id())]) } else { BTreeSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_this_one_or_a_simulated_one() {
        assert_eq!(Target::parse(None, 1).unwrap(), Target::Linux);
        let sim = Target::Sim { workload: "a.toml".into(), seed: 7 };
        assert_eq!(Target::parse(Some("sim:a.toml"), 7).unwrap(), sim);
        for wrong in ["sim:", "a.toml", ""] {
            assert!(Target::parse(Some(wrong), 1).unwrap_err().to_string().contains("expected sim:FILE"));
        }
    }

    #[test]
    fn the_tool_itself_is_never_managed_and_a_simulated_namesake_is() {
        assert_eq!(Target::Linux.never_managed(), BTreeSet::from([Pid(std::process::id())]));
        assert!(Target::Sim { workload: "a".into(), seed: 1 }.never_managed().is_empty());
    }
}
