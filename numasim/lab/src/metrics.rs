//! Computes the measures of a run: times, slowdowns, where accesses went, what was moved. This is
//! arithmetic on what the guest reported, without any verdict.

use crate::plan::program_of;
use crate::stats::{Fairness, fairness};
use numasim_guest::counters::Counters;
use numasim_guest::wire::{Job, JobRan, Ran};
use numasim_model::num;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The measures of a contender's run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Completion time of each measured job, in seconds of its own clock.
    pub seconds: BTreeMap<String, f64>,
    /// Completion time of each measured job over the time of the program alone.
    pub slowdowns: BTreeMap<String, f64>,
    /// Summary of these slowdowns.
    pub summary: Option<Fairness>,
    /// Latencies that each job printed: the members of its line whose names end in `_us`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub latencies_us: BTreeMap<String, BTreeMap<String, f64>>,
    /// Misses that another node served, over all misses of the machine; `None` if nothing was
    /// modelled or nothing missed.
    pub remote_share: Option<f64>,
    /// The same for each job that had its CPUs to itself.
    pub remote_share_by_job: BTreeMap<String, f64>,
    /// Bytes to and from memory per second, over all nodes.
    pub bytes_per_second: Option<f64>,
    /// All pages that were moved, as the kernel counted (`pgmigrate_success`), including the pages
    /// that commands moved before the measured part.
    pub pages_migrated: Option<u64>,
    /// The part of these pages that was moved before the measured part.
    pub pages_moved_before: Option<u64>,
    /// The part of these pages that NUMA balancing moved.
    pub pages_balanced: Option<u64>,
    /// How often threads of the measured jobs changed their CPU, as the kernel counted.
    pub thread_migrations: Option<u64>,
    /// CPU time of the daemon, in seconds.
    pub daemon_cpu_seconds: Option<f64>,
    /// What the daemon reports about its own work.
    pub daemon: Option<Reported>,
    /// What the command before the measured part printed, by job: the document if it prints JSON,
    /// else the text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, Value>,
}

/// What a daemon reports about its own work, in addition to what the kernel and the plugin saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reported {
    /// Threads moved.
    pub threads_moved: u64,
    /// Pages moved.
    pub pages_moved: u64,
    /// Epochs.
    pub epochs: u64,
}

/// Why a run does not count; `None` if it does.
#[must_use]
pub fn problem(ran: &Ran) -> Option<String> {
    let of_job = |job: &JobRan| job.problem.as_ref().map(|why| format!("{}: {why}", job.name));
    let daemon = ran.daemon.as_ref().and_then(|daemon| {
        let why = daemon.problem.as_ref()?;
        let said = daemon.errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        Some(format!("the daemon: {why} {said}").trim().to_owned())
    });
    ran.problem.clone().or_else(|| ran.jobs.iter().find_map(of_job)).or(daemon)
}

/// Seconds that a measured job took, as it printed.
#[must_use]
pub fn seconds(job: &JobRan) -> Option<f64> {
    let seconds = job.line.as_ref()?.get("seconds")?.as_f64()?;
    (seconds.is_finite() && seconds > 0.0).then_some(seconds)
}

/// Members of a job's line that are in microseconds.
fn latencies(job: &JobRan) -> BTreeMap<String, f64> {
    let members = job.line.as_ref().and_then(Value::as_object).into_iter().flatten();
    let one = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64().filter(|us| us.is_finite())?));
    members.filter(|(name, _)| name.ends_with("_us")).filter_map(one).collect()
}

/// The measures of a run. `alone` has the seconds of each program alone, `jobs` what was ordered.
#[must_use]
pub fn measures(ran: &Ran, alone: &BTreeMap<String, f64>, jobs: &[Job]) -> Measures {
    let measured: Vec<&JobRan> = ran.jobs.iter().filter(|job| !job.background).collect();
    let times: BTreeMap<String, f64> =
        measured.iter().filter_map(|job| Some((job.name.clone(), seconds(job)?))).collect();
    let slowdown = |(job, seconds): (&String, &f64)| Some((job.clone(), seconds / alone.get(program_of(job))?));
    let slowdowns: BTreeMap<String, f64> = times.iter().filter_map(slowdown).collect();
    let values: Vec<f64> = slowdowns.values().copied().collect();
    let moved_before = ran.before.as_ref().map(|before| before.pages_moved);
    let moved: Vec<Option<u64>> = measured.iter().map(|job| job.migrations).collect();
    Measures {
        summary: fairness(&values).filter(|_| values.len() == measured.len()),
        latencies_us: measured
            .iter()
            .map(|job| (job.name.clone(), latencies(job)))
            .filter(|(_, all)| !all.is_empty())
            .collect(),
        seconds: times,
        slowdowns,
        remote_share: ran.counters.as_ref().and_then(|all| remote_share(all, |_| true)),
        remote_share_by_job: ran.counters.as_ref().map(|all| by_job(all, jobs)).unwrap_or_default(),
        bytes_per_second: ran.counters.as_ref().and_then(bytes_per_second),
        pages_migrated: ran.vmstat.get("pgmigrate_success").map(|count| count + moved_before.unwrap_or(0)),
        pages_moved_before: moved_before,
        pages_balanced: ran.vmstat.get("numa_pages_migrated").copied(),
        thread_migrations: moved.into_iter().sum(),
        daemon_cpu_seconds: ran.daemon.as_ref().and_then(|daemon| daemon.cpu_seconds),
        daemon: ran.daemon.as_ref().and_then(|daemon| reported(&daemon.log)),
        before: ran
            .before
            .iter()
            .flat_map(|before| &before.said)
            .map(|(job, said)| (job.clone(), value(said)))
            .collect(),
    }
}

/// The JSON document in a text, or the text as it is.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Misses of some CPUs that another node served, over all their misses.
#[must_use]
pub fn remote_share(counters: &Counters, of: impl Fn(usize) -> bool) -> Option<f64> {
    let cpus = counters.cpus.iter().enumerate().filter(|(cpu, _)| of(*cpu)).map(|(_, cpu)| cpu);
    let (mut remote, mut all) = (0_u64, 0_u64);
    for cpu in cpus {
        let own = usize::try_from(cpu.node).unwrap_or(usize::MAX);
        let elsewhere =
            cpu.misses_by_node.iter().enumerate().filter(|(node, _)| *node != own).map(|(_, misses)| misses);
        remote += elsewhere.sum::<u64>();
        all += cpu.misses_by_node.iter().sum::<u64>();
    }
    (all > 0).then(|| num::float(remote) / num::float(all))
}

/// Remote shares of the jobs that were confined to CPUs where no other job could run.
fn by_job(counters: &Counters, jobs: &[Job]) -> BTreeMap<String, f64> {
    let confined = |job: &Job| job.run_cpus.clone().filter(|_| !job.placed_by_hand);
    let apart = |at: usize, cpus: &[u32]| {
        let others = jobs.iter().enumerate().filter(|(other, _)| *other != at);
        others
            .map(|(_, other)| confined(other))
            .all(|other| other.is_some_and(|all| !all.iter().any(|cpu| cpus.contains(cpu))))
    };
    let alone = jobs.iter().enumerate().filter_map(|(at, job)| {
        let cpus = confined(job).filter(|cpus| apart(at, cpus))?;
        let share = remote_share(counters, |cpu| cpus.iter().any(|own| num::index(*own) == cpu))?;
        Some((job.name.clone(), share))
    });
    alone.collect()
}

fn bytes_per_second(counters: &Counters) -> Option<f64> {
    let bytes: u64 = counters.nodes.iter().map(|node| node.bytes_read + node.bytes_written).sum();
    (counters.time_ns > 0).then(|| num::float(bytes) * 1e9 / num::float(counters.time_ns))
}

/// What a daemon says in its last line of the form
/// `{"summary": {"threads_moved": 3, "pages_moved": 400, "epochs": 9}}`, if it writes such a line.
fn reported(log: &str) -> Option<Reported> {
    let last = log.lines().rev().find_map(|line| {
        let document: Value = serde_json::from_str(line).ok()?;
        document.get("summary").cloned()
    })?;
    let count = |key: &str| last.get(key)?.as_u64();
    Some(Reported {
        threads_moved: count("threads_moved")?,
        pages_moved: count("pages_moved")?,
        epochs: count("epochs")?,
    })
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
