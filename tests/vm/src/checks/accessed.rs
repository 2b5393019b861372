//! Accessed pages (CAMM paper, section VI). A program touches a known part of its memory. isobar
//! must see that part, on its node, and move it, and leave the rest where it is. This is checked
//! for each engine that this kernel has: DAMON, and referenced bits if another process or the
//! kernel itself uses DAMON.

use crate::evidence;
use crate::isobar::{Manage, run};
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;

const KDAMONDS: &str = "/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds";
/// The switch of the kernel's own monitor, which newer kernels have, and which some turn on by
/// themselves.
const STAT: &str = "/sys/module/damon_stat/parameters/enabled";

pub fn checks(suite: &mut Suite) {
    if fs::exists(STAT).unwrap_or(false) {
        suite.check("accessed: referenced bits show the same where the kernel uses DAMON itself", beside_the_kernel);
    }
    suite.check("accessed: DAMON sees what is touched, and only that moves", by_damon);
    suite.check("accessed: referenced bits show the same where others use DAMON, which is left alone", by_mapping);
    suite.check("accessed: what a kill -9 leaves of DAMON is taken away", left_over);
}

const PAGES: u64 = 4000;
const SETTINGS: [&str; 3] = ["fixed.pages=alpha=1>3", "fixed.accessed=true", "fixed.pages_per_epoch=8192"];

/// A subject whose region `hot` is touched all the time and whose region `cold` is never touched;
/// both are on node 1.
fn subject() -> Result<Subject> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("cold", "anon", PAGES, 1)?;
    // Memory of another kind keeps the two mappings apart.
    alpha.alloc("gap", "shared", 16, 0)?;
    alpha.alloc("hot", "anon", PAGES, 1)?;
    alpha.ask(&format!("touched hot 0 {}", PAGES - 1))?;
    Ok(alpha)
}

/// Turns the kernel's own monitor off, where there is one.
fn makes_room() -> Result<()> {
    if fs::exists(STAT)? { Ok(fs::write(STAT, "N")?) } else { Ok(()) }
}

fn by_damon() -> Result<()> {
    makes_room()?;
    same("kdamonds before", evidence::text(KDAMONDS)?, "0".to_owned())?;
    let mut alpha = subject()?;
    hot_moves_and_cold_stays(&mut alpha, "by DAMON", 70)?;
    same("kdamonds afterwards", evidence::text(KDAMONDS)?, "0".to_owned())
}

fn by_mapping() -> Result<()> {
    fs::write(KDAMONDS, "1")?;
    let done = subject().and_then(|mut alpha| hot_moves_and_cold_stays(&mut alpha, "by mapping", 95));
    let left = evidence::text(KDAMONDS)?;
    fs::write(KDAMONDS, "0")?;
    done?;
    same("kdamonds of others", left, "1".to_owned())
}

/// isobar then names the module that has DAMON, and leaves it running.
fn beside_the_kernel() -> Result<()> {
    fs::write(STAT, "Y")?;
    hot_moves_and_cold_stays(&mut subject()?, "DAMON is not used: the kernel's damon_stat uses it", 95)?;
    same("the kernel's monitor", evidence::text(STAT)?, "Y".to_owned())?;
    same("kdamonds afterwards", evidence::text(KDAMONDS)?, "0".to_owned())
}

/// `percent` of the touched region must move from node 1 to node 3, and of the untouched region no
/// more than the remaining percentage.
fn hot_moves_and_cold_stays(alpha: &mut Subject, engine: &str, percent: u64) -> Result<()> {
    let before = all_on(alpha.pid(), 3)?;
    let mut manage = Manage::fixed(&["alpha"], &SETTINGS)?;
    let most = PAGES * percent / 100;
    manage.until("the touched pages moved", || Ok(on(&alpha.nodes_of("hot")?, 3) >= most))?;
    manage.epochs(4)?;
    let seen = manage.reported()?;
    let said = manage.end_by(Signal::TERM)?;
    ensure!(said.out.contains(engine) || said.err.contains(engine), "isobar does not say {engine}: {}", said.err);
    let (hot, cold) = (alpha.nodes_of("hot")?, alpha.nodes_of("cold")?);
    println!("     {engine}: hot {hot:?}, cold {cold:?}, isobar says {} moved", said.pages_moved()?);
    ensure!(on(&cold, 1) >= most, "untouched pages moved: {cold:?}");
    // The pages that isobar reports as moved must match the pages on the new node now. This
    // includes pages outside both regions: the program's own text may be on node 1, if the kernel
    // read it into memory there.
    let there = all_on(alpha.pid(), 3)?.saturating_sub(before);
    ensure!(said.pages_moved()?.abs_diff(there) <= 100, "{} moved by its word, {there} are there", said.pages_moved()?);
    // From the middle of all epochs, because the first readings are coarse.
    let accessed = |epoch: &serde_json::Value| {
        let nodes = epoch["observation"]["processes"][0]["accessed_pages"].as_array()?.clone();
        Some(nodes.iter().filter_map(serde_json::Value::as_u64).sum::<u64>())
    };
    let mut counts: Vec<u64> = seen.iter().filter_map(accessed).collect();
    counts.sort_unstable();
    let typical = counts.get(counts.len() / 2).context("no epoch says what was accessed")?;
    println!("     {engine}: {typical} pages seen accessed, at most {:?}; {PAGES} were touched", counts.last());
    ensure!((most..=PAGES + PAGES / 2).contains(typical), "{typical} pages seen accessed of {PAGES}");
    alpha.verify("hot")?;
    alpha.verify("cold")
}

/// The pages of a process on a node, as the kernel counts them.
fn all_on(pid: u32, node: u32) -> Result<u64> {
    let text = evidence::text(format!("/proc/{pid}/numa_maps"))?;
    let key = format!("N{node}=");
    let counts = text.split_whitespace().filter_map(|word| word.strip_prefix(&key));
    counts.map(|count| count.parse::<u64>().context("a count of numa_maps")).sum()
}

fn on(nodes: &BTreeMap<u32, u64>, node: u32) -> u64 {
    nodes.get(&node).copied().unwrap_or(0)
}

fn left_over() -> Result<()> {
    makes_room()?;
    let mut alpha = subject()?;
    let mut manage = Manage::fixed(&["alpha"], &SETTINGS)?;
    manage.until("the touched pages moved", || Ok(on(&alpha.nodes_of("hot")?, 3) > 0))?;
    let _ = manage.end_by(Signal::KILL)?;
    ensure!(evidence::text(KDAMONDS)? != "0", "a kill -9 leaves something to take away");
    let said = run(&["restore"])?;
    ensure!(said.err.contains("DAMON"), "isobar restore says nothing of it: {}", said.err);
    same("kdamonds after restore", evidence::text(KDAMONDS)?, "0".to_owned())
}
