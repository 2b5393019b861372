//! After every kind of end, all affinities are as they were, and what does not belong to isobar is
//! left alone.

use crate::evidence;
use crate::isobar::{self, Manage, Said};
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

pub fn checks(suite: &mut Suite) {
    suite.check("restore: after a normal end", || comes_back("4", "", |manage| manage.end()?.fine().map(|_| ())));
    for (name, signal) in [("SIGTERM", Signal::TERM), ("SIGINT", Signal::INT)] {
        suite.check(&format!("restore: after {name}"), || {
            comes_back("120", "", |manage| manage.end_by(signal)?.fine().map(|_| ()))
        });
    }
    suite
        .check("restore: after a panic", || comes_back("120", "14", |manage| failed(&manage.end()?, "internal error")));
    suite.check("restore: after kill -9 and `isobar restore`", || {
        comes_back("120", "", |manage| {
            let said = manage.end_by(Signal::KILL)?;
            ensure!(!said.status.success(), "it survived");
            isobar::run(&["restore"])?.fine().map(|_| ())
        })
    });
    suite.check("restore: after kill -9 the next manage puts back first", || {
        comes_back("120", "", |manage| {
            manage.end_by(Signal::KILL)?;
            let said = isobar::run(&["manage", "--policy", "linux", "--for", "1", "--interval", "0.5"])?;
            ensure!(said.fine()?.out.contains("left changes"), "it does not say what it put back: {}", said.out);
            Ok(())
        })
    });
    suite.check("restore: a process that got the id of a managed one is left alone", reused);
    suite.check("restore: an affinity that its owner changed meanwhile is left alone", owner);
}

fn failed(said: &Said, word: &str) -> Result<()> {
    ensure!(!said.status.success(), "it ended as if nothing had happened");
    ensure!(said.err.contains(word), "it says only: {}", said.err);
    Ok(())
}

/// Masks of several kinds are changed, isobar ends in some way (by itself after some seconds, or by
/// a panic at an epoch), and every mask is as it was.
fn comes_back(seconds: &str, panic_at: &str, end: impl FnOnce(Manage) -> Result<()>) -> Result<()> {
    let (mut alpha, mut beta) = (Subject::start("alpha")?, Subject::start("beta")?);
    let (a, b) = (alpha.spin(4)?, beta.spin(3)?);
    set_affinity(a[0], &[0, 1, 2])?;
    set_affinity(b[2], &[6])?;
    let before = (alpha.affinities()?, beta.affinities()?);
    let places = "fixed.threads=alpha/1=1 alpha/2=2 alpha/3=3 alpha/4=4-7 beta=5";
    let settings = [places, "manage.move_pinned=true", "manage.min_cpu_percent=0"];
    let options = format!("--policy fixed --interval 0.25 --for {seconds}");
    let mut command = Command::new("isobar");
    command.args(isobar::manage(&options, &["alpha", "beta"], &settings)).env("ISOBAR_TEST_PANIC_AT_EPOCH", panic_at);
    let mut manage = Manage::start_by(&mut command)?;
    manage.until("eight threads bound", || {
        let is_bound = |mask: &&String| mask.parse::<u32>().is_ok() || *mask == "4-7";
        let bound = |all: BTreeMap<u32, String>| all.values().filter(is_bound).count();
        Ok(bound(alpha.affinities()?) == 4 && beta.affinities()?.values().all(|mask| mask == "5"))
    })?;
    // Threads started by bound threads inherit their mask, and must not keep it. The first one ends
    // meanwhile.
    let young = alpha.spin(1)?;
    manage.epochs(2)?;
    alpha.ask("end 1")?;
    end(manage)?;
    let mut expected = before.clone();
    expected.0.remove(&a[0]);
    expected.0.insert(young[0], "0-7".to_owned());
    same("affinities", (alpha.affinities()?, beta.affinities()?), expected)?;
    ensure!(!fs::exists("/run/isobar/state.json")?, "the state file is still there");
    Ok(())
}

/// kill -9. Then the managed process ends and another one gets its id, with the same mask that
/// isobar had set.
fn reused() -> Result<()> {
    let alpha = Subject::start("alpha")?;
    let pid = alpha.pid();
    let mut manage = Manage::fixed(&["alpha"], &["fixed.threads=alpha=5"])?;
    manage.until("the process bound", || Ok(alpha.affinities()?.values().all(|mask| mask == "5")))?;
    manage.end_by(Signal::KILL)?;
    drop(alpha);
    let other = with_pid(pid)?;
    set_affinity(pid, &[5])?;
    let said = isobar::run(&["restore"])?;
    same("affinity of the other process", other.affinity(pid)?, "5".to_owned())?;
    ensure!(said.fine()?.out.contains("reused") || said.out.contains("ended"), "it does not say so: {}", said.out);
    Ok(())
}

/// A subject with a given process id: the kernel assigns the id after the last one.
fn with_pid(pid: u32) -> Result<Subject> {
    for _ in 0..50 {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).context("ns_last_pid")?;
        let other = Subject::start("other")?;
        if other.pid() == pid {
            return Ok(other);
        }
    }
    anyhow::bail!("no process got id {pid}")
}

fn owner() -> Result<()> {
    let mut alpha = Subject::start("alpha")?;
    let a = alpha.spin(2)?;
    let mut manage = Manage::fixed(&["alpha"], &["fixed.threads=alpha/1=5 alpha/2=6"])?;
    manage.until("both bound", || Ok(alpha.affinity(a[0])? == "5" && alpha.affinity(a[1])? == "6"))?;
    set_affinity(a[0], &[1, 2])?;
    manage.end_by(Signal::TERM)?.fine()?;
    let after = alpha.affinities()?;
    same("affinity that the owner set", &after[&a[0]], &"1-2".to_owned())?;
    same("affinity that isobar had set", &after[&a[1]], &"0-7".to_owned())
}

pub fn set_affinity(tid: u32, cpus: &[usize]) -> Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    let id = Pid::from_raw(i32::try_from(tid)?).context("no thread id")?;
    sched_setaffinity(Some(id), &set).with_context(|| format!("affinity of {tid}"))?;
    // A thread has a folder below its own id, too.
    same("affinity", evidence::list(&evidence::status(tid, tid, "Cpus_allowed_list")?).len(), cpus.len())
}
