//! `isobar run`: new pages of an unmodified program go to the node that the decision names, and
//! follow when it changes, with both methods (the shim and weights).

use crate::evidence::{numbered, text};
use crate::subject::Subject;
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::suite::{Suite, same};

const DECISION: &str = "/tmp/decision";
const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";
/// The subject, linked dynamically and statically.
const DYNAMIC: &str = "/bin/dynamic";
const STATIC: &str = "/bin/subject";

/// The CPUs of the guest.
const ALL_CPUS: &str = "0-7";

/// Pages of one mapping, which is made before the decision changes, and pages of one filling.
const PAGES: u64 = 40_000;
const PART: u64 = 1000;

pub fn checks(suite: &mut Suite) {
    suite.check("run: by the shim, new pages follow the decision, in the midst of a mapping too", || {
        follows("shim", DYNAMIC, PART)
    });
    suite.check("run: by weights, pages of a statically linked program do, and weights are put back", || {
        let before = weights()?;
        // 255 of 258 pages, on four nodes.
        follows("weights", STATIC, PART * 95 / 100)?;
        same("weights afterwards", weights()?, before)
    });
    suite.check("run: --policy starts a manager for the command, which ends with it", by_policy);
    suite.check("run: --node binds memory and CPUs", || {
        let mut subject = Subject::start_under(Command::new("isobar").args(["run", "--node", "2", "--", STATIC]))?;
        subject.ask(&format!("reserve a {PART}"))?;
        subject.ask(&format!("fill a 0 {}", PART - 1))?;
        same("pages", subject.nodes_of("a")?, BTreeMap::from([(2, PART)]))?;
        subject.quit()
    });
}

/// At least `least` of [`PART`] new pages must go to the node that the decision names: first node
/// 2, and soon after the change node 3.
fn follows(way: &str, program: &str, least: u64) -> Result<()> {
    fs::write(DECISION, "node 2\n")?;
    let mut command = Command::new("isobar");
    command.args(["run", "--by", way, "--decision", DECISION, "--", program]);
    let mut subject = Subject::start_under(&mut command)?;
    subject.ask(&format!("reserve a {PAGES}"))?;
    let mut filler = Filler { subject, next: 0 };
    filler.until(2, least)?;
    fs::write(DECISION, "node 3\n")?;
    filler.until(3, least)?;
    // It must stay so.
    for _ in 0..3 {
        let new = filler.fill()?;
        ensure!(new.get(&3).is_some_and(|pages| *pages >= least), "new pages are on {new:?}");
    }
    filler.subject.quit()
}

/// With `static-60`, new pages go to the node that asks for them and to the nearest node. The shim
/// alternates between the two, because it knows no weights except zero and one. The program is one
/// that the command starts. The manager must be gone once the command has ended, and also if
/// `isobar run` is killed.
fn by_policy() -> Result<()> {
    let start = || {
        let command = ["isobar", "run", "--cpus", ALL_CPUS, "--", DYNAMIC];
        let words = ["run", "--policy", "static-60", "--by", "shim", "--"];
        Subject::start_under(Command::new("isobar").args(words).args(command))
    };
    let mut subject = start()?;
    subject.ask(&format!("reserve a {PAGES}"))?;
    // If a program was seen on two nodes, the shim splits its pages over the pairs of both nodes.
    subject.ask("pin 0")?;
    subject.ask("touched a 0 9")?;
    let mut filler = Filler { subject, next: 0 };
    let mut last = BTreeMap::new();
    let mut split = || -> Result<bool> {
        last = filler.fill()?;
        let most = last.values().copied().max().unwrap_or(0);
        Ok(last.len() == 2 && (PART / 2..=PART * 55 / 100).contains(&most))
    };
    let found = (0..35).try_fold(false, |found, _| {
        sleep(Duration::from_millis(300));
        Ok::<_, anyhow::Error>(found || split()?)
    })?;
    ensure!(found, "no {PART} new pages were split between two nodes: {last:?}");
    ensure!(managers()? == 1, "{} managers run", managers()?);
    filler.subject.quit()?;
    until_no_manager("the command has ended")?;
    let killed = start()?;
    until("one manager runs", || Ok(managers()? == 1))?;
    let pid = i32::try_from(killed.pid()).ok().and_then(Pid::from_raw).context("its pid")?;
    kill_process(pid, Signal::KILL)?;
    until_no_manager("isobar run was killed")
}

fn until_no_manager(why: &str) -> Result<()> {
    until(&format!("no manager runs any more: {why}"), || Ok(managers()? == 0))
}

fn until(what: &str, mut reached: impl FnMut() -> Result<bool>) -> Result<()> {
    for _ in 0..100 {
        if reached()? {
            return Ok(());
        }
        sleep(Duration::from_millis(100));
    }
    anyhow::bail!("not within 10 s: {what}")
}

/// Processes of `isobar manage`.
fn managers() -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir("/proc")? {
        let words = fs::read(entry?.path().join("cmdline")).unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0);
        let isobar = words.next().is_some_and(|program| program.ends_with(b"isobar"));
        count += usize::from(isobar && words.next() == Some(b"manage".as_slice()));
    }
    Ok(count)
}

struct Filler {
    subject: Subject,
    next: u64,
}

impl Filler {
    /// Touches the next pages; returns where they are.
    fn fill(&mut self) -> Result<BTreeMap<u32, u64>> {
        ensure!(self.next + PART <= PAGES, "all {PAGES} pages are filled");
        let last = self.next + PART - 1;
        self.subject.ask(&format!("fill a {} {last}", self.next))?;
        let mut nodes = BTreeMap::new();
        for (first, end, node) in self.subject.runs_now("a")? {
            let (first, end) = (first.max(self.next), end.min(last));
            if first <= end {
                *nodes.entry(u32::try_from(node).unwrap_or(u32::MAX)).or_default() += end + 1 - first;
            }
        }
        self.next += PART;
        Ok(nodes)
    }

    /// Fills until new pages go to a node.
    fn until(&mut self, node: u32, least: u64) -> Result<()> {
        let mut last = BTreeMap::new();
        while self.next + PART <= PAGES {
            last = self.fill()?;
            if last.get(&node).is_some_and(|pages| *pages >= least) {
                return Ok(());
            }
            sleep(Duration::from_millis(200));
        }
        anyhow::bail!("new pages never went to node {node}; the last are on {last:?}")
    }
}

/// The machine's weights by node.
fn weights() -> Result<Vec<String>> {
    let nodes = numbered(WEIGHTS, "node").context("this kernel has no weighted interleave")?;
    nodes.into_iter().map(|node| text(format!("{WEIGHTS}/node{node}"))).collect()
}
