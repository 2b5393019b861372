//! Runs `manage --dry-run` on the workers, and reads what its epochs report about a thread.

use crate::isobar::{self, Manage};
use crate::worker::NAME;
use anyhow::{Result, ensure};
use serde_json::Value;
use std::process::Command;

/// Arguments for isobar on all workers, reporting every epoch, including idle threads. It changes
/// nothing and ends by itself.
fn words(interval: &str) -> Vec<String> {
    let options = format!("--dry-run --policy dino --interval {interval} --for 120");
    isobar::manage(&options, &[NAME], &["manage.min_cpu_percent=0"])
}

/// Starts it as root.
pub fn watch(interval: &str) -> Result<Manage> {
    Manage::start(&words(interval))
}

/// Starts it with a limit on open files.
pub fn watch_within(limit: u64, interval: &str) -> Result<Manage> {
    let script = format!("ulimit -n {limit}; exec isobar \"$@\"");
    Manage::start_by(Command::new("sh").args(["-c", &script, "sh"]).args(words(interval)))
}

/// Starts it as another user, with these capabilities (hexadecimal).
pub fn watch_as(uid: &str, capabilities: &str, interval: &str) -> Result<Manage> {
    Manage::start_by(Command::new("as").args([uid, capabilities, "isobar"]).args(words(interval)))
}

/// Waits until these threads are counted, and the epoch in which all of them are asleep is over.
pub fn until_counted(manage: &mut Manage, tids: &[u32]) -> Result<()> {
    for _ in 0..40 {
        let reported = manage.reported()?;
        if reported.last().is_some_and(|last| tids.iter().all(|tid| count(last, *tid, "instructions").is_some())) {
            return Ok(());
        }
        manage.epochs(1)?;
    }
    anyhow::bail!("the workers' threads {tids:?} are never counted")
}

/// What an epoch reports about every thread.
pub fn threads(epoch: &Value) -> impl Iterator<Item = &Value> {
    processes(epoch).flat_map(|process| rows(&process["threads"]))
}

/// What an epoch reports about the threads of every process with a name.
pub fn threads_of<'a>(epoch: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    processes(epoch).filter(move |process| process["name"] == name).flat_map(|process| rows(&process["threads"]))
}

fn processes(epoch: &Value) -> impl Iterator<Item = &Value> {
    rows(&epoch["observation"]["processes"])
}

fn rows(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// A thread in an epoch.
pub fn thread(epoch: &Value, tid: u32) -> Option<&Value> {
    threads(epoch).find(|thread| thread["tid"] == tid)
}

/// A count of a thread in an epoch; `None` if it is absent or "not measured".
pub fn count(epoch: &Value, tid: u32, key: &str) -> Option<u64> {
    thread(epoch, tid)?[key].as_u64()
}

/// The sum over all epochs.
pub fn sum(epochs: &[Value], tid: u32, key: &str) -> u64 {
    epochs.iter().filter_map(|epoch| count(epoch, tid, key)).sum()
}

/// The last remark with these words.
pub fn remark(epochs: &[Value], words: &str) -> Option<String> {
    let all = epochs.iter().flat_map(|epoch| rows(&epoch["remarks"])).filter_map(Value::as_str);
    all.filter(|remark| remark.contains(words)).last().map(str::to_owned)
}

/// Why something is not measured, as last reported.
pub fn reason<'a>(epochs: &'a [Value], sensor: &str) -> Option<&'a str> {
    let reported = epochs.iter().rev().find_map(|epoch| epoch.get("missing"));
    reported.and_then(|missing| missing[sensor].as_str())
}

/// Fails unless `found` lies between `truth` and the given percentage above it. What the kernel
/// does on behalf of a thread (ticks, system calls) is counted too, so a count is never below the
/// program's own.
pub fn within(what: &str, found: u64, truth: u64, percent: u64) -> Result<()> {
    let most = truth + truth * percent / 100;
    ensure!((truth..=most).contains(&found), "{what}: isobar counted {found}, the program executed {truth}");
    Ok(())
}
