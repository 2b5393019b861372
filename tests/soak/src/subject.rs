//! The managed processes (`programs/churn.c`). All of them have the same name, which no other
//! process has. This module knows their threads and their owners' wishes.

use crate::evidence::{self, Cpus, Stat, Task};
use crate::family::Family;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A thread id and the time when the thread started, because ids are reused.
pub type Id = (i32, u64);

/// What an owner wanted, and how it appears from outside (see `churn.c`).
#[derive(Clone, Debug)]
pub struct Wish {
    pub kind: String,
    pub cpus: Cpus,
}

impl Wish {
    /// Whether the owner's wish cannot be recognised from outside, because the CPU is the one that
    /// isobar chose.
    pub fn is_invisible(&self) -> bool {
        self.kind == "same"
    }
}

/// The managed processes of one end.
pub struct Subject {
    name: String,
    wishes: PathBuf,
}

impl Subject {
    /// Starts the processes.
    pub fn start(family: &mut Family, program: &Path, folder: &Path, seed: u64) -> Result<Self> {
        let name = format!("soak{}", std::process::id());
        let link = folder.join(&name);
        std::os::unix::fs::symlink(program, &link).with_context(|| link.display().to_string())?;
        let wishes = folder.join("wishes");
        fs::write(&wishes, "")?;
        let mut command = Command::new(&link);
        command.args(["main", &seed.to_string()]).arg(&wishes).arg(if seed.is_multiple_of(3) { "0" } else { "1" });
        family.start(command.env_remove("CHURN_CPUS").stdin(Stdio::null()).stdout(Stdio::null()))?;
        Ok(Self { name, wishes })
    }

    /// The name of all its processes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a process is one of them.
    pub fn owns(&self, stat: &Stat) -> bool {
        stat.name == self.name
    }

    /// All living threads.
    pub fn tasks(&self, family: &mut Family) -> Vec<Task> {
        let pids = family.living().into_iter().filter(|(_, stat)| self.owns(stat)).map(|(pid, _)| pid);
        pids.flat_map(evidence::tasks).collect()
    }

    /// The last wish of each thread that has one.
    pub fn wishes(&self) -> BTreeMap<Id, Wish> {
        let text = fs::read_to_string(&self.wishes).unwrap_or_default();
        text.lines().filter_map(wish).collect()
    }
}

/// Parses `TID START KIND CPU,CPU,`.
fn wish(line: &str) -> Option<(Id, Wish)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [tid, start, kind, cpus] = words[..] else { return None };
    let cpus = cpus.split(',').filter_map(|cpu| cpu.parse().ok()).collect();
    Some(((tid.parse().ok()?, start.parse().ok()?), Wish { kind: kind.to_owned(), cpus }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_a_line_and_half_a_line_is_none() {
        let ((tid, start), read) = wish("12 345 same 0,3,").unwrap();
        assert_eq!((tid, start, read.cpus, read.kind.as_str()), (12, 345, Cpus::from([0, 3]), "same"));
        assert!(wish("12 345").is_none());
    }
}
