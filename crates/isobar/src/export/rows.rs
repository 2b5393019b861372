//! A recording as rows, one for each thread and epoch.

use isobar_model::{Pid, Process, Thread, Tid};
use isobar_view::Moment;
use serde::Serialize;

/// A thread in an epoch. Counts are those of the epoch's interval, and `None` if not measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row<'a> {
    /// The epoch.
    pub epoch: u64,
    /// End of the epoch, in seconds of the run.
    pub seconds: f64,
    /// The process.
    pub pid: Pid,
    /// Its name, as the kernel reports it.
    pub name: &'a str,
    /// The thread.
    pub tid: Tid,
    /// The CPU that the thread last ran on.
    pub cpu: Option<u32>,
    /// The LLC of that CPU.
    pub llc: Option<u32>,
    /// The node of that CPU.
    pub node: Option<u32>,
    /// Whether the policy managed it.
    pub managed: bool,
    /// CPU time.
    pub cpu_seconds: Option<f64>,
    /// Instructions retired.
    pub instructions: Option<u64>,
    /// CPU cycles.
    pub cycles: Option<u64>,
    /// LLC references.
    pub llc_references: Option<u64>,
    /// LLC misses.
    pub llc_misses: Option<u64>,
    /// LLC misses that another LLC answered.
    pub cache_transfers: Option<u64>,
    /// Memory traffic, in bytes a second.
    pub bytes_per_second: Option<f64>,
}

/// The rows of an epoch.
pub fn of<'a>(moment: &'a Moment<'_>) -> impl Iterator<Item = Row<'a>> {
    moment.seen.threads().map(move |(process, thread)| row(moment, process, thread))
}

fn row<'a>(moment: &Moment<'_>, process: &'a Process, thread: &Thread) -> Row<'a> {
    let cpu = thread.cpu.and_then(|cpu| moment.seen.machine.cpu(cpu));
    Row {
        epoch: moment.number,
        seconds: moment.seen.time.0,
        pid: process.pid,
        name: &process.name,
        tid: thread.tid,
        cpu: thread.cpu.map(|cpu| cpu.0),
        llc: cpu.and_then(|cpu| cpu.llc).map(|llc| llc.0),
        node: cpu.and_then(|cpu| cpu.node).map(|node| node.0),
        managed: moment.managed.thread(process.pid, thread.tid).is_some(),
        cpu_seconds: thread.cpu_time.map(|time| time.0),
        instructions: thread.instructions,
        cycles: thread.cycles,
        llc_references: thread.llc_references,
        llc_misses: thread.llc_misses,
        cache_transfers: thread.cache_transfers,
        bytes_per_second: thread.bandwidth.map(|bandwidth| bandwidth.0),
    }
}
