//! Failures around `isobar daemon`: resctrl is unmounted and CPUs go offline while it runs, and its
//! state folder is full or read-only. The daemon must continue if it can and report in a line what
//! is wrong. Whatever ends it, threads, groups and the switch of NUMA balancing must be as before.

use super::resctrl::{Double, group_of, llcs, ours};
use super::restore::set_affinity;
use crate::daemon::{Daemon, FOLDER, STATE, Small, remarked, status};
use crate::evidence;
use crate::isobar;
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Result, ensure};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const FULL: &str = "No space left on device";
const READ_ONLY: &str = "Read-only file system";

pub fn checks(suite: &mut Suite) {
    suite.check("daemon: resctrl is unmounted under it and mounted again", remounted);
    suite.check("daemon: a CPU goes offline under it and comes back", cpu_comes_back);
    suite.check("daemon: killed while a CPU is offline, put back before it returns", || killed_while_offline(false));
    suite.check("daemon: killed while a CPU is offline, put back after it returns", || killed_while_offline(true));
    suite.check("daemon: its state folder is full, then read-only", state_folder);
    suite.check("daemon: NUMA balancing is off while it runs, and back after every end", balancing_comes_back);
    suite.check("daemon: NUMA balancing stays on while that cannot be written down", balancing_waits);
}

/// Groups vanish with the mount, and are created again with the next one.
fn remounted() -> Result<()> {
    let double = Double::mount(&[])?;
    let ids = llcs()?;
    let (first, last) = (ids[0], ids[ids.len() - 1]);
    let (alpha, beta) = (Subject::start("alpha")?, Subject::start("beta")?);
    let manage = format!("policy = \"fixed\"\nonly = [\"alpha\", \"beta\"]\nresctrl_root = {:?}", super::resctrl::ROOT);
    let ways = format!("[fixed]\nways = \"alpha={first}:0x3 beta={last}:0x7f0:50\"");
    let mut daemon = Daemon::start(&manage, &ways)?;
    let both = || Ok(group_of(&alpha)?.is_some() && group_of(&beta)?.is_some());
    daemon.until("both have a group", |_| both())?;
    drop(double);
    daemon.until_remarked("resctrl is not mounted: `mount -t resctrl")?;
    daemon.epochs(3)?;
    let _double = Double::mount(&[])?;
    daemon.until("both have a group again", |_| both())?;
    daemon.until("it says that no more", |status| Ok(!remarked(status, "resctrl is not mounted")))?;
    let said = daemon.stop()?;
    ensure!(said.err.contains("resctrl is not mounted"), "its log does not say so: {}", said.err);
    same("groups of ours", ours()?, Vec::new())
}

/// Threads that `fixed` puts on CPUs, one of them on the last CPU, one on the last two, and one
/// that its owner bound elsewhere.
struct Hotplug {
    subject: Subject,
    threads: Vec<u32>,
    before: BTreeMap<u32, String>,
}

impl Hotplug {
    fn set() -> Result<(Self, Daemon)> {
        let mut subject = Subject::start("alpha")?;
        let threads = subject.spin(4)?;
        set_affinity(threads[2], &[4])?;
        let hotplug = Self { before: subject.affinities()?, subject, threads };
        let manage = "policy = \"fixed\"\nonly = [\"alpha\"]";
        let mut daemon = Daemon::start(manage, "[fixed]\nthreads = \"alpha/1=7 alpha/2=5 alpha/4=6-7\"")?;
        daemon.until("three threads bound", |_| hotplug.are_bound())?;
        Ok((hotplug, daemon))
    }

    fn are_bound(&self) -> Result<bool> {
        let on = |index: usize| self.subject.affinity(self.threads[index]);
        Ok(on(0)? == "7" && on(1)? == "5" && on(3)? == "6-7")
    }

    /// All affinities are as before, now that every CPU is there again. Also no other affinity is
    /// requested any more: when a thread moves to another cpuset, the kernel binds it to what was
    /// last requested.
    fn is_as_before(&self) -> Result<()> {
        const BOX: &str = "/sys/fs/cgroup/hotplug";
        same("affinities", self.subject.affinities()?, self.before.clone())?;
        fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset")?;
        fs::create_dir(BOX)?;
        fs::write(format!("{BOX}/cgroup.procs"), self.subject.pid().to_string())?;
        let inside = self.subject.affinities();
        fs::write("/sys/fs/cgroup/cgroup.procs", self.subject.pid().to_string())?;
        fs::remove_dir(BOX)?;
        same("affinities in another cpuset", inside?, self.before.clone())
    }
}

/// A CPU that is offline until this value is dropped.
struct Offline(u32);

impl Offline {
    fn cpu(cpu: u32) -> Result<Self> {
        let offline = Self(cpu);
        fs::write(offline.file(), "0")?;
        Ok(offline)
    }

    fn file(&self) -> String {
        format!("/sys/devices/system/cpu/cpu{}/online", self.0)
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        let _ = fs::write(self.file(), "1");
    }
}

fn cpu_comes_back() -> Result<()> {
    let (hotplug, mut daemon) = Hotplug::set()?;
    let offline = Offline::cpu(7)?;
    daemon.until("it has seen that", |_| Ok(hotplug.subject.affinity(hotplug.threads[0])? != "7"))?;
    daemon.epochs(4)?;
    same("the other thread", hotplug.subject.affinity(hotplug.threads[1])?, "5".to_owned())?;
    same("the thread of two CPUs", hotplug.subject.affinity(hotplug.threads[3])?, "6".to_owned())?;
    drop(offline);
    daemon.until("all threads bound again", |_| hotplug.are_bound())?;
    daemon.epochs(2)?;
    // A whole node.
    let node = (Offline::cpu(6)?, Offline::cpu(7)?);
    daemon.epochs(4)?;
    drop(node);
    daemon.until("all threads bound once more", |_| hotplug.are_bound())?;
    daemon.stop()?;
    hotplug.is_as_before()
}

fn killed_while_offline(returns_first: bool) -> Result<()> {
    let (hotplug, daemon) = Hotplug::set()?;
    // Killed before it can notice that a CPU has gone.
    daemon.end_by(Signal::KILL)?;
    let offline = Offline::cpu(7)?;
    if returns_first {
        drop(offline);
        isobar::run(&["restore"])?.fine()?;
    } else {
        isobar::run(&["restore"])?.fine()?;
        drop(offline);
    }
    ensure!(!fs::exists(STATE)?, "the state file is still there");
    hotplug.is_as_before()
}

/// The folder of the state file and the socket fills up, has room again, and becomes read-only.
fn state_folder() -> Result<()> {
    let small = Small::mount(FOLDER)?;
    let (alpha, beta) = (Subject::start("alpha")?, Subject::start("beta")?);
    let before = (alpha.affinities()?, beta.affinities()?);
    let bound = |subject: &Subject| -> Result<bool> {
        Ok(subject.affinities()?.values().all(|mask| mask == "5" || mask == "6"))
    };
    let (manage, fixed) = ("policy = \"fixed\"\nonly = [\"alpha\", \"beta\"]", "[fixed]\nthreads = \"alpha=5 beta=6\"");
    small.fill()?;
    let mut daemon = Daemon::start(manage, fixed)?;
    daemon.until_remarked(FULL)?;
    daemon.epochs(2)?;
    same("affinities while it is full", (alpha.affinities()?, beta.affinities()?), before.clone())?;
    small.free()?;
    daemon.until("both bound", |_| Ok(bound(&alpha)? && bound(&beta)?))?;
    daemon.until("it says that no more", |status| Ok(!remarked(status, FULL)))?;
    small.remount("ro")?;
    let gamma = Subject::start("alpha")?;
    let free = gamma.affinities()?;
    daemon.until_remarked(READ_ONLY)?;
    same("affinity while it is read-only", gamma.affinities()?, free)?;
    let said = daemon.end_by(Signal::TERM)?;
    ensure!(!said.status.success() && said.err.contains("everything is put back, but"), "{}", said.err);
    same("affinities", (alpha.affinities()?, beta.affinities()?), before)?;
    // If the socket is in the same folder, the daemon does not start.
    let said = Daemon::refused(manage, fixed)?;
    let line = said.err.lines().filter(|line| line.contains("the control socket cannot be made")).count();
    ensure!(said.status.code() == Some(1) && line == 1, "{}: {}", said.status, said.err);
    small.remount("rw")?;
    isobar::run(&["restore"])?.fine()?;
    ensure!(!fs::exists(STATE)?, "the state file is still there");
    Ok(())
}

const SWITCH: &str = "/proc/sys/kernel/numa_balancing";
const OFF: &str = "policy = \"linux\"\nnuma_balancing = \"off\"";

/// The state of the switch.
fn balancing() -> Result<String> {
    evidence::text(SWITCH)
}

/// Turns the switch on until this value is dropped.
struct Balanced;

impl Balanced {
    fn set() -> Result<Self> {
        fs::write(SWITCH, "1")?;
        Ok(Self)
    }
}

impl Drop for Balanced {
    fn drop(&mut self) {
        let _ = fs::write(SWITCH, "0");
    }
}

fn balancing_comes_back() -> Result<()> {
    let _balanced = Balanced::set()?;
    let start = || -> Result<Daemon> {
        let mut daemon = Daemon::start(OFF, "")?;
        daemon.until_remarked("NUMA balancing is switched off until isobar ends")?;
        same("while it runs", balancing()?, "0".to_owned())?;
        same("what is changed now", status()?["changed_now"].as_u64(), Some(1))?;
        Ok(daemon)
    };
    start()?.stop()?;
    same("after SIGTERM", balancing()?, "1".to_owned())?;
    start()?.end_by(Signal::KILL)?;
    same("after kill -9", balancing()?, "0".to_owned())?;
    isobar::run(&["restore"])?.fine()?;
    same("after `isobar restore`", balancing()?, "1".to_owned())?;
    start()?.end_by(Signal::KILL)?;
    Daemon::start("policy = \"linux\"", "")?.stop()?;
    same("after the next daemon", balancing()?, "1".to_owned())
}

fn balancing_waits() -> Result<()> {
    let (_balanced, small) = (Balanced::set()?, Small::mount(FOLDER)?);
    small.fill()?;
    let mut daemon = Daemon::start(OFF, "")?;
    daemon.until_remarked("NUMA balancing is not switched off: ")?;
    daemon.until_remarked(FULL)?;
    daemon.epochs(2)?;
    same("while the folder is full", balancing()?, "1".to_owned())?;
    ensure!(!Path::new(STATE).exists(), "there is a state file");
    small.free()?;
    daemon.until_remarked("NUMA balancing is switched off until isobar ends")?;
    same("when there is room", balancing()?, "0".to_owned())?;
    small.fill()?;
    daemon.stop()?;
    same("after SIGTERM", balancing()?, "1".to_owned())?;
    small.free()?;
    let mut daemon = Daemon::start(OFF, "")?;
    daemon.until_remarked("NUMA balancing is switched off until isobar ends")?;
    small.remount("ro")?;
    daemon.end_by(Signal::KILL)?;
    let said = isobar::run(&["restore"])?;
    ensure!(!said.status.success() && said.err.contains("everything is put back, but"), "{}", said.err);
    same("after `isobar restore` on a read-only folder", balancing()?, "1".to_owned())
}
