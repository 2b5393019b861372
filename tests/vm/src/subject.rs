//! A subject: a process of `programs/subject.c` with a name of its own, and the conversation with
//! it.

use crate::evidence;
use crate::talk::Talk;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Where subjects are linked under their names.
const FOLDER: &str = "/tmp/subjects";

/// How often a query is repeated for pages whose move is under way.
const ASKED_AGAIN: u32 = 10;

/// A running subject; it ends when this value is dropped.
pub struct Subject {
    talk: Talk,
}

impl Subject {
    /// Starts a subject; the kernel knows it as `name` (at most 15 bytes).
    pub fn start(name: &str) -> Result<Self> {
        Self::start_by(Command::new(link(name)?))
    }

    /// Starts a subject in a cgroup.
    pub fn start_in(name: &str, cgroup: &str) -> Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$1/cgroup.procs\" && exec \"$2\"", "sh", cgroup]).arg(link(name)?);
        let mut subject = Self::start_by(command)?;
        subject.ask("end 0")?;
        Ok(subject)
    }

    fn start_by(mut command: Command) -> Result<Self> {
        let mut subject = Self { talk: Talk::with(&mut command)? };
        // It answers once it runs under its own name.
        subject.ask("end 0")?;
        Ok(subject)
    }

    /// Starts a subject through a command that contains it.
    pub fn start_under(command: &mut Command) -> Result<Self> {
        let mut subject = Self { talk: Talk::with(command)? };
        subject.ask("end 0")?;
        Ok(subject)
    }

    /// Lets it end in order, and waits for the end.
    pub fn quit(mut self) -> Result<()> {
        self.ask("quit")?;
        self.talk.ended()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.talk.pid()
    }

    /// Sends a line and returns the answer.
    pub fn ask(&mut self, line: &str) -> Result<String> {
        self.talk.ask(line)
    }

    /// Allocates memory of a kind (see `subject.c`), filled with a pattern, on a node.
    pub fn alloc(&mut self, name: &str, kind: &str, pages: u64, node: u32) -> Result<()> {
        self.ask(&format!("alloc {name} {kind} {pages} {node}"))?;
        let found = self.nodes_of(name)?;
        ensure!(found == BTreeMap::from([(node, pages)]), "{name} should begin on node {node}: {found:?}");
        Ok(())
    }

    /// Starts threads that spin; returns their ids.
    pub fn spin(&mut self, count: u32) -> Result<Vec<u32>> {
        let answer = self.ask(&format!("threads {count}"))?;
        Ok(answer.split(' ').filter_map(|tid| tid.parse().ok()).collect())
    }

    /// Pages by node, as [`Self::runs_of`] finds them. Pages that are on no node count under the
    /// largest number.
    pub fn nodes_of(&mut self, region: &str) -> Result<BTreeMap<u32, u64>> {
        let mut nodes = BTreeMap::new();
        for (first, last, node) in self.runs_of(region)? {
            *nodes.entry(u32::try_from(node).unwrap_or(u32::MAX)).or_default() += last - first + 1;
        }
        Ok(nodes)
    }

    /// Runs of pages on one node, as `move_pages(2)` reports: (first, last, node). Pages that are
    /// on no node, such as the page at which a sampled subject is about to take its next fault, are
    /// queried again some times; after that they have a negative node.
    pub fn runs_of(&mut self, region: &str) -> Result<Vec<(u64, u64, i32)>> {
        for _ in 0..ASKED_AGAIN {
            let runs = self.runs_now(region)?;
            if runs.iter().all(|(_, _, node)| *node >= 0) {
                return Ok(runs);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.runs_now(region)
    }

    /// The same with a single query: pages that were never touched have a negative node.
    pub fn runs_now(&mut self, region: &str) -> Result<Vec<(u64, u64, i32)>> {
        let answer = self.ask(&format!("pages {region}"))?;
        let run = |word: &str| {
            let (pages, node) = word.split_once('=')?;
            let (first, last) = pages.split_once('-')?;
            Some((first.parse().ok()?, last.parse().ok()?, node.parse().ok()?))
        };
        answer.split_whitespace().map(|word| run(word).with_context(|| answer.clone())).collect()
    }

    /// Fails if a page of a region no longer contains what was written.
    pub fn verify(&mut self, region: &str) -> Result<()> {
        let answer = self.ask(&format!("verify {region}"))?;
        ensure!(answer == "ok", "{answer}");
        Ok(())
    }

    /// CPUs that each thread may use.
    pub fn affinities(&self) -> Result<BTreeMap<u32, String>> {
        evidence::affinities(self.pid())
    }

    /// The CPUs that a thread may use.
    pub fn affinity(&self, tid: u32) -> Result<String> {
        evidence::status(self.pid(), tid, "Cpus_allowed_list")
    }
}

fn link(name: &str) -> Result<PathBuf> {
    std::fs::create_dir_all(FOLDER)?;
    let path = PathBuf::from(FOLDER).join(name);
    if !path.exists() {
        symlink("/bin/subject", &path).with_context(|| path.display().to_string())?;
    }
    Ok(path)
}
