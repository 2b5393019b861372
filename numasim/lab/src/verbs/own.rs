//! `--daemon COMMAND`: a program of this machine as one more contender, such as a scheduler of
//! sched_ext. It needs no entry in an experiment's file, so that all experiments can be tried with
//! it as they are.

use numasim_lab::LabError;
use numasim_lab::experiment::{Contender, Experiment};
use numasim_lab::fetch;
use std::path::{Path, PathBuf};

/// A program of this machine that runs as a contender.
#[derive(Clone, Debug, PartialEq)]
pub struct Own {
    /// The file, which is put into the guest with the libraries that it needs.
    pub program: PathBuf,
    /// What it is in the experiment: a daemon with the program's name, beside NUMA balancing.
    pub contender: Contender,
}

impl Own {
    /// Finds the program of a command.
    ///
    /// # Errors
    /// There is no such program.
    pub fn of(command: &str) -> Result<Self, LabError> {
        let wrong = |problem: String| LabError::input("--daemon", problem);
        let first = command.split_whitespace().next().unwrap_or_default();
        let file = Path::new(first);
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let name =
            name.ok_or_else(|| wrong(format!("`{command}` names no program, such as \"scx_rusty -s 20000\"")))?;
        let program =
            if first.contains('/') { Some(file.to_owned()).filter(|file| file.is_file()) } else { found(first) };
        let program = program.ok_or_else(|| {
            wrong(format!("`{first}` is no program of this machine: name its file, or a program in the PATH"))
        })?;
        let contender =
            Contender::Daemon { name, run: by_name(command), package: None, numa_balancing: true, bring: Vec::new() };
        Ok(Self { program, contender })
    }

    /// Adds it to an experiment.
    ///
    /// # Errors
    /// The experiment has a contender of this name.
    pub fn enter(&self, experiment: &mut Experiment) -> Result<(), String> {
        let name = self.contender.name();
        if experiment.contender.iter().any(|other| other.name() == name) {
            return Err(format!("--daemon: a contender is called `{name}` already"));
        }
        experiment.contender.push(self.contender.clone());
        Ok(())
    }
}

/// A command whose program is named without its folder.
pub fn by_name(command: &str) -> String {
    let command = command.trim();
    let program = command.split_whitespace().next().unwrap_or_default();
    command[program.rfind('/').map_or(0, |slash| slash + 1)..].to_owned()
}

fn found(name: &str) -> Option<PathBuf> {
    fetch::program(name, name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_this_machine_becomes_a_contender() {
        let own = Own::of(" sh -c true ").unwrap();
        assert!(own.program.is_file());
        let Contender::Daemon { name, run, numa_balancing, .. } = &own.contender else { panic!("another kind") };
        assert_eq!((name.as_str(), run.as_str(), *numa_balancing), ("sh", "sh -c true", true));
        let by_file = Own::of(&own.program.display().to_string()).unwrap();
        assert_eq!((by_file.program, by_file.contender.name()), (own.program, "sh".to_owned()));
    }

    #[test]
    fn without_the_program_the_message_says_what_to_name() {
        let said = |command| Own::of(command).unwrap_err().to_string();
        assert!(said("no-such-program -x").contains("`no-such-program` is no program of this machine"));
        assert!(said("/none/scheduler").contains("name its file"));
        assert!(said(" ").contains("names no program"));
    }
}
