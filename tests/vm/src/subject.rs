//! A subject: a process of `programs/subject.c` under a name of its own, and the conversation with
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

/// The node of pages that are on none.
pub const ON_THE_WAY: u32 = u32::MAX;
/// How often the query is repeated for pages that are on their way.
const ASKED_AGAIN: u32 = 10;

/// A running subject; it ends when this is dropped.
pub struct Subject {
    talk: Talk,
}

impl Subject {
    /// Starts one; the kernel knows it as `name` (15 bytes at most).
    pub fn start(name: &str) -> Result<Self> {
        Self::start_by(Command::new(link(name)?))
    }

    /// Starts one in a cgroup.
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

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.talk.pid()
    }

    /// Says a line and returns the answer.
    pub fn ask(&mut self, line: &str) -> Result<String> {
        self.talk.ask(line)
    }

    /// Memory of a kind (see `subject.c`), filled with a pattern, on a node.
    pub fn alloc(&mut self, name: &str, kind: &str, pages: u64, node: u32) -> Result<()> {
        self.ask(&format!("alloc {name} {kind} {pages} {node}"))?;
        let found = self.nodes_of(name)?;
        ensure!(found == BTreeMap::from([(node, pages)]), "{name} should begin on node {node}: {found:?}");
        Ok(())
    }

    /// Starts threads that spin; their ids.
    pub fn spin(&mut self, count: u32) -> Result<Vec<u32>> {
        let answer = self.ask(&format!("threads {count}"))?;
        Ok(answer.split(' ').filter_map(|tid| tid.parse().ok()).collect())
    }

    /// Pages by node, as `move_pages(2)` reports. Where pages are on no node, since they are on
    /// their way, the query is repeated some times; pages that are still on their way then count
    /// under [`ON_THE_WAY`].
    pub fn nodes_of(&mut self, region: &str) -> Result<BTreeMap<u32, u64>> {
        for _ in 0..ASKED_AGAIN {
            let nodes = self.nodes_now(region)?;
            if !nodes.contains_key(&ON_THE_WAY) {
                return Ok(nodes);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.nodes_now(region)
    }

    fn nodes_now(&mut self, region: &str) -> Result<BTreeMap<u32, u64>> {
        let answer = self.ask(&format!("where {region}"))?;
        let node = |word: &str| if word == "absent" { Some(ON_THE_WAY) } else { word.parse().ok() };
        let pair = |word: &str| word.split_once('=').and_then(|(key, pages)| Some((node(key)?, pages.parse().ok()?)));
        answer
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(|word| pair(word).with_context(|| answer.clone()))
            .collect()
    }

    /// Runs of pages on one node: (first, last, node). Pages that are on no node, such as the one
    /// at which a sampled subject is about to take its next fault, are queried again some times;
    /// after that they count under a negative node.
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

    fn runs_now(&mut self, region: &str) -> Result<Vec<(u64, u64, i32)>> {
        let answer = self.ask(&format!("pages {region}"))?;
        let run = |word: &str| {
            let (pages, node) = word.split_once('=')?;
            let (first, last) = pages.split_once('-')?;
            Some((first.parse().ok()?, last.parse().ok()?, node.parse().ok()?))
        };
        answer
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(|word| run(word).with_context(|| answer.clone()))
            .collect()
    }

    /// Fails where a page of a region no longer holds what was written.
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
