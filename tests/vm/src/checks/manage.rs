//! `isobar manage` with a policy whose decision is known (`fixed`): the chosen threads go to the
//! chosen cores, the chosen pages go to the chosen nodes, and nothing else moves.

use crate::evidence::{last_cpu, text, uptime, vmstat};
use crate::isobar::{self, Manage};
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;

pub fn checks(suite: &mut Suite) {
    suite.check("manage: named threads go to named cores, all others stay as they were", threads);
    suite.check("manage: named pages go to the named node, all others stay, contents intact", pages);
    suite.check("manage: a process that its owner pinned stays", pinned);
    suite.check("manage: cpuset limits are respected", cpuset);
    suite.check("manage: the rate limit holds", rate);
    suite.check("manage: a node that is nearly full takes what fits, and the rest is reported", full);
    suite.check("manage: a dry run changes nothing", dry_run);
}

/// For the awkward machine: node 4 has memory but no CPU.
pub fn memory_only_node(suite: &mut Suite) {
    suite.check("manage: pages go to a node without CPUs and come back", || {
        let mut alpha = Subject::start("alpha")?;
        alpha.alloc("a", "anon", 1500, 3)?;
        for node in [4, 0] {
            let pages = format!("fixed.pages=alpha={node}");
            let mut manage = Manage::fixed(&["alpha"], &[&pages])?;
            manage.until("all pages on the node", || Ok(alpha.nodes_of("a")? == BTreeMap::from([(node, 1500)])))?;
            manage.end_by(Signal::TERM)?.fine()?;
        }
        alpha.verify("a")
    });
}

fn threads() -> Result<()> {
    let (mut alpha, mut beta) = (Subject::start("alpha")?, Subject::start("beta")?);
    let (a, b) = (alpha.spin(3)?, beta.spin(2)?);
    let mut expected = (alpha.affinities()?, beta.affinities()?);
    expected.0.extend([(a[0], "5".to_owned()), (a[1], "2".to_owned())]);
    expected.1.extend([(b[1], "7".to_owned())]);
    let places = "fixed.threads=alpha/1=5 alpha/2=2 beta/2=7";
    let mut manage = Manage::fixed(&["alpha", "beta"], &[places])?;
    manage.until("three threads bound", || Ok(alpha.affinity(a[0])? != "0-7" && beta.affinity(b[1])? != "0-7"))?;
    manage.epochs(2)?;
    same("affinities", (alpha.affinities()?, beta.affinities()?), expected)?;
    let ran = [last_cpu(alpha.pid(), a[0])?, last_cpu(alpha.pid(), a[1])?, last_cpu(beta.pid(), b[1])?];
    same("CPUs that the threads run on", ran, [5, 2, 7])?;
    manage.end_by(Signal::TERM)?.fine()?;
    Ok(())
}

/// The target node is neither the first nor the last, so an error by one node in either direction
/// would show.
fn pages() -> Result<()> {
    let (mut alpha, mut beta) = (Subject::start("alpha")?, Subject::start("beta")?);
    alpha.alloc("a", "anon", 1537, 0)?;
    beta.alloc("b", "anon", 801, 0)?;
    beta.alloc("c", "anon", 400, 2)?;
    let (places, before) = ("fixed.pages=alpha=2 beta=0>1", vmstat("pgmigrate_success")?);
    let mut manage = Manage::fixed(&["alpha", "beta"], &[places, "fixed.pages_per_epoch=600"])?;
    manage.until("all pages of both have left node 0", || {
        Ok(!alpha.nodes_of("a")?.contains_key(&0) && !beta.nodes_of("b")?.contains_key(&0))
    })?;
    manage.epochs(2)?;
    let said = manage.end_by(Signal::TERM)?;
    same("pages of a", alpha.nodes_of("a")?, BTreeMap::from([(2, 1537)]))?;
    same("pages of b", beta.nodes_of("b")?, BTreeMap::from([(1, 801)]))?;
    same("pages of c, which the plan leaves alone", beta.nodes_of("c")?, BTreeMap::from([(2, 400)]))?;
    alpha.verify("a")?;
    beta.verify("b")?;
    let reported = said.pages_moved()?;
    // Stacks and the program itself move too, a few hundred pages.
    let migrated = vmstat("pgmigrate_success")? - before;
    ensure!(migrated >= 1537 + 801, "the kernel counts {migrated} migrated pages");
    ensure!(
        (1537 + 801..1537 + 801 + 800).contains(&reported),
        "isobar says that it moved {reported} pages of 2338 and some"
    );
    Ok(())
}

fn pinned() -> Result<()> {
    let (mut alpha, mut gamma) = (Subject::start("alpha")?, Subject::start("gamma")?);
    let a = alpha.spin(1)?;
    gamma.ask("pin 1")?;
    let before = gamma.affinities()?;
    let mut manage = Manage::fixed(&["alpha", "gamma"], &["fixed.threads=gamma=6 alpha/1=4"])?;
    manage.until("the other process bound", || Ok(alpha.affinity(a[0])? == "4"))?;
    manage.epochs(3)?;
    same("affinity of the pinned process", gamma.affinities()?, before)?;
    let said = manage.end_by(Signal::INT)?;
    ensure!(
        said.out.contains("pin"),
        "no message that a process was left alone because it is pinned: {}",
        last(&said.out)
    );
    Ok(())
}

/// CPUs 2-3 are node 1; memory is limited to nodes 0 and 1.
fn cpuset() -> Result<()> {
    const BOX: &str = "/sys/fs/cgroup/box";
    fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset")?;
    fs::create_dir_all(BOX)?;
    fs::write(format!("{BOX}/cpuset.cpus"), "2-3")?;
    fs::write(format!("{BOX}/cpuset.mems"), "0-1")?;
    let mut delta = Subject::start_in("delta", BOX)?;
    delta.alloc("d", "anon", 300, 0)?;
    let d = delta.spin(2)?;
    let before = delta.affinities()?;
    same("affinity in the cpuset", &before[&d[0]], &"2-3".to_owned())?;
    let mut manage = Manage::fixed(&["delta"], &["fixed.threads=delta/1=3 delta/2=7", "fixed.pages=delta=3"])?;
    manage.until("the thread bound that may be", || Ok(delta.affinity(d[0])? == "3"))?;
    manage.epochs(3)?;
    same("affinity of the thread that was to leave the cpuset", delta.affinity(d[1])?, "2-3".to_owned())?;
    same("pages that were to leave the cpuset", delta.nodes_of("d")?, BTreeMap::from([(0, 300)]))?;
    let said = manage.end_by(Signal::TERM)?;
    ensure!(said.out.contains("cpuset"), "no message about the cpuset: {}", last(&said.out));
    same("affinities afterwards", delta.affinities()?, before)
}

fn rate() -> Result<()> {
    const PER_SECOND: f64 = 2000.0;
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("a", "anon", 30_000, 0)?;
    let limit = format!("manage.max_pages_per_second={PER_SECOND}");
    let start = uptime()?;
    let mut manage = Manage::fixed(&["alpha"], &["fixed.pages=alpha=1", "fixed.pages_per_epoch=30000", &limit])?;
    manage.until("the first pages moved", || Ok(alpha.nodes_of("a")?.contains_key(&1)))?;
    manage.epochs(6)?;
    let moved = *alpha.nodes_of("a")?.get(&1).context("none moved")?;
    // A bucket that is full at the start contains one second's worth.
    let most = PER_SECOND * (uptime()? - start + 1.0);
    manage.end_by(Signal::TERM)?.fine()?;
    let moved = f64::from(u32::try_from(moved)?);
    ensure!(moved <= most, "{moved} pages moved where {most} were allowed");
    ensure!(moved > PER_SECOND, "{moved} pages moved: the bucket does not fill again");
    Ok(())
}

/// Reserved huge pages are memory that no process can get: 430 of 512 MiB.
fn full() -> Result<()> {
    const RESERVE: &str = "/sys/devices/system/node/node3/hugepages/hugepages-2048kB/nr_hugepages";
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("a", "anon", 20_000, 0)?;
    fs::write(RESERVE, "215").context(RESERVE)?;
    let result = fill(&mut alpha);
    fs::write(RESERVE, "0")?;
    result
}

fn fill(alpha: &mut Subject) -> Result<()> {
    let free = |node: u32| -> Result<u64> {
        let info = text(format!("/sys/devices/system/node/node{node}/meminfo"))?;
        let line = info.lines().find(|line| line.contains("MemFree:")).context("no MemFree")?;
        Ok(line.split_whitespace().nth(3).context("no value")?.parse::<u64>()? / 4)
    };
    let free_pages = free(3)?;
    ensure!(free_pages < 20_000, "node 3 has {free_pages} pages free: the check would prove nothing");
    let mut manage = Manage::fixed(&["alpha"], &["fixed.pages=alpha=3", "fixed.pages_per_epoch=20000"])?;
    manage.until_told("no free memory on the target node")?;
    let said = manage.end_by(Signal::TERM)?;
    let moved = alpha.nodes_of("a")?.get(&3).copied().unwrap_or(0);
    ensure!(moved <= free_pages, "{moved} pages moved to a node that had {free_pages} free");
    said.fine()?;
    alpha.verify("a")
}

fn dry_run() -> Result<()> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("a", "anon", 500, 0)?;
    alpha.spin(2)?;
    let before = alpha.affinities()?;
    let settings = ["fixed.threads=alpha=3", "fixed.pages=alpha=3", "manage.min_cpu_percent=0"];
    let options = "--dry-run --policy fixed --for 2 --interval 0.5";
    let said = isobar::run(&isobar::manage(options, &["alpha"], &settings))?;
    ensure!(said.fine()?.out.contains("move_thread"), "the dry run decided nothing: {}", last(&said.out));
    same("affinities", alpha.affinities()?, before)?;
    same("pages", alpha.nodes_of("a")?, BTreeMap::from([(0, 500)]))
}

/// The last line of an output, shortened.
pub fn last(out: &str) -> String {
    out.lines().last().unwrap_or("nothing").chars().take(500).collect()
}
