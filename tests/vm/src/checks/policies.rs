//! Real policies on a real kernel, driven by the kernel's software events. If the outcome of a
//! policy is certain whatever the counts are, Linux must show it.

use crate::evidence::{list, numbered, text};
use crate::isobar::{self, Manage};
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Result, ensure};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};

pub fn checks(suite: &mut Suite) {
    suite.check("policies: dino spreads one hungry thread a node, memory follows, all is put back", || spread("dino"));
    suite.check("policies: di-migrate does so too", || spread("di-migrate"));
    for policy in ["maximum-local", "n-mass"] {
        suite
            .check(&format!("policies: {policy} takes every program to its home node, memory stays"), || homes(policy));
    }
}

/// One program per node with CPUs, with its memory on that node: balanced homes, for which
/// maximum-local and N-MASS decide alike.
fn homes(policy: &str) -> Result<()> {
    let nodes = nodes_with_cpus()?;
    let mut subjects = nodes.iter().rev().enumerate().map(hungry).collect::<Result<Vec<_>>>()?;
    let before = subjects.iter().map(Subject::affinities).collect::<Result<Vec<_>>>()?;
    let mut manage = manage(policy, 0.5, &[])?;
    manage.until("every thread on its home node", || {
        let now = subjects.iter().map(node_of_thread).collect::<Result<Vec<_>>>()?;
        Ok(now.into_iter().eq(nodes.iter().rev().map(|node| Some(*node))))
    })?;
    manage.epochs(3)?;
    manage.end_by(Signal::TERM)?.fine()?;
    for (subject, node) in subjects.iter_mut().zip(nodes.iter().rev()) {
        same("pages", subject.nodes_of("a")?, BTreeMap::from([(*node, PAGES)]))?;
    }
    same("affinities afterwards", subjects.iter().map(Subject::affinities).collect::<Result<Vec<_>>>()?, before)
}

const NAMES: [&str; 4] = ["hungry0", "hungry1", "hungry2", "hungry3"];
const PAGES: u64 = 1200;

/// The program with this number, with its memory on a node.
fn hungry((number, node): (usize, &u32)) -> Result<Subject> {
    let mut subject = Subject::start(NAMES[number])?;
    subject.alloc("a", "shared", PAGES, *node)?;
    subject.ask("sampled a 600")?;
    Ok(subject)
}

/// Starts `manage` on the hungry programs, driven by the kernel's software events; it ends by
/// itself after two minutes.
fn manage(policy: &str, interval: f64, settings: &[&str]) -> Result<Manage> {
    let settings = [&["manage.counters=software"], settings].concat();
    Manage::start(&isobar::manage(&format!("--policy {policy} --interval {interval} --for 120"), &NAMES, &settings))
}

/// As many programs as nodes with CPUs, all started on one node. Each counts as memory-intensive,
/// and there is a domain for each.
fn spread(policy: &str) -> Result<()> {
    let nodes = nodes_with_cpus()?;
    let first = vec![nodes[0]; nodes.len()];
    let mut subjects = first.iter().enumerate().map(hungry).collect::<Result<Vec<_>>>()?;
    let before = subjects.iter().map(Subject::affinities).collect::<Result<Vec<_>>>()?;
    // Any page fault makes a program memory-intensive here: the threshold is far below one in 1000
    // instructions.
    let devil: &[&str] = if policy == "dino" { &["dino.devil_mpki=0.0000001"] } else { &[] };
    // DI-Migrate deals equal programs again in every epoch and withdraws pages that have not
    // arrived. So an epoch must be longer than an emulated machine needs to copy them.
    let interval = if policy == "dino" { 0.5 } else { 5.0 };
    let mut manage = manage(policy, interval, devil)?;
    manage.until("one hungry thread a node", || Ok(nodes_of_threads(&subjects)? == nodes.iter().copied().collect()))?;
    for subject in &mut subjects {
        manage.until("its memory beside each thread", || {
            let home = node_of_thread(subject)?.unwrap_or(u32::MAX);
            Ok(subject.nodes_of("a")?.get(&home).copied().unwrap_or(0) >= PAGES - 100)
        })?;
    }
    manage.end_by(Signal::TERM)?.fine()?;
    // Not earlier, because a subject that checks its memory is busy, and would be managed for that.
    subjects.iter_mut().try_for_each(|subject| subject.verify("a"))?;
    let after = subjects.iter().map(Subject::affinities).collect::<Result<Vec<_>>>()?;
    same("affinities afterwards", after, before)
}

fn nodes_with_cpus() -> Result<Vec<u32>> {
    let all = numbered("/sys/devices/system/node", "node")?;
    let has =
        |node: &u32| text(format!("/sys/devices/system/node/node{node}/cpulist")).is_ok_and(|cpus| !cpus.is_empty());
    let found: Vec<u32> = all.into_iter().filter(has).collect();
    ensure!(found.len() == 4, "expected four nodes with CPUs: {found:?}");
    Ok(found)
}

/// The nodes to which the hungry threads are bound. There are fewer than expected if two threads
/// share a node or if one is not bound.
fn nodes_of_threads(subjects: &[Subject]) -> Result<BTreeSet<u32>> {
    let all = subjects.iter().map(node_of_thread).collect::<Result<Vec<_>>>()?;
    Ok(all.into_iter().flatten().collect())
}

fn node_of_thread(subject: &Subject) -> Result<Option<u32>> {
    let masks = subject.affinities()?;
    let Some(cpu) = masks.values().next_back().and_then(|mask| mask.parse::<u32>().ok()) else { return Ok(None) };
    for node in nodes_with_cpus()? {
        if list(&text(format!("/sys/devices/system/node/node{node}/cpulist"))?).contains(&cpu) {
            return Ok(Some(node));
        }
    }
    Ok(None)
}
