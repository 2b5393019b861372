//! Programs and threads: the rates of the epoch, where pages are compared with where threads run,
//! and what is known of slowdowns.

use crate::view::{Class, Harm, ProgramView, ThreadView};
use isobar_groups::label_named;
use isobar_model::{CacheClass, Mpki, NodeId, Observation, Pid, Process, Thread, Topology, num};
use isobar_policy::dino::class::Class as Animal;
use isobar_policy::isobar::outlook::EpochAssessment;
use std::collections::BTreeMap;

/// Thresholds of DINO's classes, in misses per 1000 instructions (section 3.1).
const DEVIL: f64 = 2.0;
const SUPER_DEVIL: f64 = 100.0;
/// Maximum number of neighbours that are listed for a program, and of programs for a neighbour.
const NAMED: usize = 8;
/// Fraction of its CPU time on a node from which on a program counts as running there.
const RUNS: f64 = 0.02;

/// The programs of an epoch.
pub fn programs(seen: &Observation, managed: &Observation, standing: Option<&EpochAssessment>) -> Vec<ProgramView> {
    let mut list: Vec<ProgramView> = seen.processes.iter().map(|process| one(seen, process)).collect();
    for program in &mut list {
        program.managed = managed.process(program.pid).is_some();
    }
    if let Some(standing) = standing {
        suffer(&mut list, standing);
    }
    list
}

fn one(seen: &Observation, process: &Process) -> ProgramView {
    let interval = seen.interval.0.max(1e-9);
    let sums = Sums::of(&process.threads);
    let runs_on = runs_on(seen, process);
    let pages = pages(&seen.machine, process);
    ProgramView {
        pid: process.pid,
        name: process.name.to_string(),
        group: process.cgroup.as_ref().and_then(|cgroup| label_named(&cgroup.path, cgroup.name.as_deref())),
        processes: 1,
        is_vm: process.is_vm(),
        managed: false,
        cpus: sums.time.map(|time| time / interval),
        class: process.cache_class.map(of_cache).or_else(|| sums.mpki().map(of_rate)),
        ipc: sums.ipc(),
        mpki: sums.mpki(),
        cache_transfers_pki: sums.passed().filter(|_| is_on_several_caches(seen, process)),
        bandwidth: sums.bandwidth,
        remote: remote(pages.as_deref(), runs_on.as_deref()),
        pages,
        runs_on,
        threads: process.threads.iter().map(|thread| of_thread(seen, process, thread)).collect(),
        ..ProgramView::default()
    }
}

fn of_thread(seen: &Observation, process: &Process, thread: &Thread) -> ThreadView {
    let sums = Sums::of(std::slice::from_ref(thread));
    ThreadView {
        tid: thread.tid,
        cpu: thread.cpu,
        node: thread.cpu.and_then(|cpu| seen.machine.node_of(cpu)),
        llc: thread.cpu.and_then(|cpu| seen.machine.llc_of(cpu)),
        cpus: thread.cpu_time.map(|time| time.0 / seen.interval.0.max(1e-9)),
        class: process.cache_class.map(of_cache).or_else(|| sums.mpki().map(of_rate)),
        ipc: sums.ipc(),
        mpki: sums.mpki(),
        bandwidth: sums.bandwidth,
        pinned: thread.pinned,
    }
}

/// Sums over those threads that have the figure.
#[derive(Default)]
struct Sums {
    time: Option<f64>,
    instructions: Option<f64>,
    /// Over the threads whose cycles are counted.
    cycled: (f64, f64),
    /// Over the threads whose misses are counted.
    missed: (f64, f64),
    /// Over the threads whose transfers between caches are counted.
    passed: (f64, f64),
    bandwidth: Option<f64>,
}

impl Sums {
    fn of(threads: &[Thread]) -> Self {
        let mut sums = Self::default();
        for thread in threads {
            add(&mut sums.time, thread.cpu_time.map(|time| time.0));
            add(&mut sums.bandwidth, thread.bandwidth.map(|rate| rate.0));
            let Some(done) = thread.instructions.map(num::float) else { continue };
            add(&mut sums.instructions, Some(done));
            for (sum, count) in [
                (&mut sums.cycled, thread.cycles),
                (&mut sums.missed, thread.llc_misses),
                (&mut sums.passed, thread.cache_transfers),
            ] {
                if let Some(count) = count {
                    *sum = (sum.0 + done, sum.1 + num::float(count));
                }
            }
        }
        sums
    }

    fn ipc(&self) -> Option<f64> {
        (self.cycled.1 > 0.0).then(|| self.cycled.0 / self.cycled.1)
    }

    fn mpki(&self) -> Option<f64> {
        per_thousand(self.missed)
    }

    fn passed(&self) -> Option<f64> {
        per_thousand(self.passed)
    }
}

/// Events per 1000 instructions, of a number of instructions and of events.
fn per_thousand((instructions, events): (f64, f64)) -> Option<f64> {
    (instructions > 0.0).then(|| 1000.0 * events / instructions)
}

/// Whether threads of a process that did something in the epoch were on several caches at its end.
fn is_on_several_caches(seen: &Observation, process: &Process) -> bool {
    let ran = process.threads.iter().filter(|thread| thread.instructions.is_some_and(|done| done > 0));
    let mut caches = ran.filter_map(|thread| seen.machine.llc_of(thread.cpu?));
    let first = caches.next();
    caches.any(|llc| Some(llc) != first)
}

fn add(sum: &mut Option<f64>, more: Option<f64>) {
    if let Some(more) = more {
        *sum.get_or_insert(0.0) += more;
    }
}

const fn of_cache(class: CacheClass) -> Class {
    match class {
        CacheClass::LightSharing => Class::LightSharing,
        CacheClass::Streaming => Class::Streaming,
        CacheClass::Sensitive => Class::Sensitive,
    }
}

fn of_rate(mpki: f64) -> Class {
    match Animal::of(Mpki(mpki), Mpki(DEVIL), Mpki(SUPER_DEVIL)) {
        Animal::Turtle => Class::Turtle,
        Animal::Devil => Class::Devil,
        Animal::SuperDevil => Class::SuperDevil,
    }
}

fn position(machine: &Topology, node: NodeId) -> Option<usize> {
    machine.nodes().binary_search_by_key(&node, |node| node.id).ok()
}

fn pages(machine: &Topology, process: &Process) -> Option<Vec<u64>> {
    let known = process.pages.as_ref()?;
    let mut pages = vec![0; machine.nodes().len()];
    for (node, count) in known.iter() {
        *pages.get_mut(position(machine, node)?)? = count.0;
    }
    Some(pages)
}

/// The fraction of its CPU time on each node; if time is not measured, the fraction of its threads.
fn runs_on(seen: &Observation, process: &Process) -> Option<Vec<f64>> {
    let mut on = vec![0.0; seen.machine.nodes().len()];
    for thread in &process.threads {
        let Some(at) =
            thread.cpu.and_then(|cpu| seen.machine.node_of(cpu)).and_then(|node| position(&seen.machine, node))
        else {
            continue;
        };
        on[at] += thread.cpu_time.map_or(1.0, |time| time.0);
    }
    let all: f64 = on.iter().sum();
    (all > 0.0).then(|| on.into_iter().map(|time| time / all).collect())
}

fn remote(pages: Option<&[u64]>, runs_on: Option<&[f64]>) -> Option<f64> {
    let (pages, runs_on) = (pages?, runs_on?);
    let all: u64 = pages.iter().sum();
    let far = pages.iter().zip(runs_on).filter(|(_, runs)| **runs < RUNS).map(|(count, _)| count).sum::<u64>();
    (all > 0).then(|| num::float(far) / num::float(all))
}

/// Fills in which programs are slowed down, and by which.
fn suffer(list: &mut [ProgramView], standing: &EpochAssessment) {
    let names: BTreeMap<Pid, String> = list.iter().map(|program| (program.pid, program.name.clone())).collect();
    let harm = |pid: Pid, gain: f64| Harm { pid, name: names.get(&pid).cloned().unwrap_or_default(), gain };
    let mut harms: BTreeMap<Pid, Vec<Harm>> = BTreeMap::new();
    for known in &standing.programs {
        let Ok(at) = list.binary_search_by_key(&known.pid, |program| program.pid) else { continue };
        let program = &mut list[at];
        program.contention = Some(known.contention);
        program.distance = known.distance;
        program.slowdown = Some(known.contention * known.distance.unwrap_or(1.0));
        program.harmed_by = known.from.iter().take(NAMED).map(|(pid, gain)| harm(*pid, *gain)).collect();
        for (pid, gain) in &known.from {
            harms.entry(*pid).or_default().push(harm(known.pid, *gain));
        }
    }
    for program in list {
        let mut own = harms.remove(&program.pid).unwrap_or_default();
        own.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.pid.cmp(&b.pid)));
        own.truncate(NAMED);
        program.harms = own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{counted, pages, process, seen, thread};
    use isobar_model::{Bandwidth, Seconds};
    use isobar_policy::isobar::outlook::MeasuredSlowdown;

    /// Two threads of 1.25 billion instructions in 2.5 billion cycles, with 10 and 30 misses per
    /// 1000 instructions.
    #[test]
    fn rates_are_of_all_threads_together() {
        let mut second = counted(2, 4, 30.0);
        second.bandwidth = Some(Bandwidth(1e9));
        let mut one = process(1, "a", vec![counted(1, 0, 10.0), second, thread(3, 5)]);
        one.pages = pages(&[300, 100]);
        let seen = seen("node:2 core:4", vec![one]);
        let list = programs(&seen, &seen, None);
        let [program] = &list[..] else { panic!("{list:?}") };
        assert_eq!((program.ipc, program.mpki, program.bandwidth), (Some(0.5), Some(20.0), Some(1e9)));
        assert_eq!((program.cpus, program.class, program.managed), (Some(3.0), Some(Class::Devil), true));
        assert_eq!(program.pages, Some(vec![300, 100]));
        let on = program.runs_on.clone().unwrap();
        assert!((on[0] - 1.0 / 3.0).abs() < 1e-9 && (on[1] - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!((program.remote, program.slowdown), (Some(0.0), None), "it runs on both nodes");
        assert_eq!(
            (program.threads[2].ipc, program.threads[2].class, program.threads[2].node),
            (None, None, Some(NodeId(1)))
        );
    }

    /// Two threads, of whose 10 misses per 1000 instructions another cache answers 6: on two caches
    /// they pass lines to each other, on one cache the lines come from elsewhere.
    #[test]
    fn threads_on_several_caches_pass_lines() {
        let passed = |cpu: u32| {
            let mut threads = vec![counted(1, 0, 10.0), counted(2, cpu, 10.0)];
            threads.iter_mut().for_each(|thread| thread.cache_transfers = thread.llc_misses.map(|all| all * 3 / 5));
            let seen = seen("node:2 llc:1 core:4", vec![process(1, "a", threads)]);
            programs(&seen, &seen, None)[0].cache_transfers_pki
        };
        assert_eq!([passed(4), passed(1)], [Some(6.0), None]);
    }

    #[test]
    fn pages_are_remote_where_no_thread_runs() {
        let mut one = process(1, "a", vec![thread(1, 0)]);
        one.pages = pages(&[300, 100]);
        let mut asleep = thread(2, 4);
        asleep.cpu_time = Some(Seconds(0.0));
        let mut other = process(2, "b", vec![asleep]);
        other.pages = pages(&[0, 10]);
        let list = programs(&seen("node:2 core:4", vec![one, other]), &seen("node:2 core:4", vec![]), None);
        assert_eq!((list[0].remote, list[1].remote, list[0].managed), (Some(0.25), None, false));
    }

    #[test]
    fn harm_is_told_to_both_sides() {
        let seen =
            seen("node:1 core:4", vec![process(1, "a", vec![thread(1, 0)]), process(2, "b", vec![thread(2, 1)])]);
        let known = MeasuredSlowdown { pid: Pid(1), contention: 1.25, distance: Some(1.2), from: vec![(Pid(2), 0.2)] };
        let standing = EpochAssessment { programs: vec![known], ..EpochAssessment::default() };
        let list = programs(&seen, &seen, Some(&standing));
        assert!((list[0].slowdown.unwrap() - 1.5).abs() < 1e-9);
        assert_eq!((list[0].harmed_by[0].name.as_str(), list[1].harms[0].pid), ("b", Pid(1)));
        assert_eq!(list[1].slowdown, None);
    }
}
