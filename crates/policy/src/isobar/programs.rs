//! The programs of a machine, in the order of the observation's processes. Each epoch is read here:
//! which programs came, which went, and how fast each one was. What programs that went were like is
//! remembered by name.

use super::cores::{Added, Busy};
use super::curves::{Curves, Kind};
use super::estimate::Cpi;
use super::idle::runs;
use super::memory::Memory;
use super::part::Part;
use super::program::{Known, Program};
use super::reading::{FEW, Reading};
use crate::kit::domains::Domains;
use isobar_model::{NodeId, Observation, Pid, Process, Thread, num};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of names that are remembered.
const NAMES: usize = 256;
/// Weight of a program's running time in the mean that is remembered for its name.
const LIFE_TAKEN: f64 = 0.5;
/// How many programs of a kind, itself included, must agree in their first reading.
const ALIKE: usize = 3;
/// Fraction of a program's misses that memory must answer if the misses are to count for its miss
/// curve.
const MOSTLY_FETCHED: f64 = 0.9;
/// CPU cycles per second if they are not counted.
const HERTZ: f64 = 2.5e9;

/// All programs.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// One for each process of the observation, in its order.
    pub list: Vec<Program>,
    /// What programs of each name were like.
    names: BTreeMap<Arc<str>, Known>,
    /// The miss curves of each kind of program.
    pub curves: Curves,
    /// CPU cycles per second.
    pub hertz: f64,
    /// How much a further thread on a core adds.
    pub added: Added,
}

impl Programs {
    /// Reads an epoch: which programs there are, and how fast they were with their `parts` of the
    /// caches, by position.
    pub fn read(&mut self, seen: &Observation, domains: &Domains, memory: &Memory, parts: impl Fn(usize, Pid) -> Part) {
        let now = seen.time.0;
        let mut old = std::mem::take(&mut self.list).into_iter().peekable();
        let busy = Busy::of(seen, domains);
        self.hertz = hertz(seen).unwrap_or(if self.hertz > 0.0 { self.hertz } else { HERTZ });
        for process in &seen.processes {
            while let Some(gone) = old.next_if(|old| old.pid < process.pid) {
                remember(&mut self.names, &gone, now);
            }
            let same = old.next_if(|old| old.pid == process.pid && old.name == process.name);
            let mut program = same.unwrap_or_else(|| {
                let before = self.names.get(&process.name).copied();
                Program::new(process.pid, &process.name, now - seen.interval.0.min(now), before)
            });
            program.cgroup.clone_from(&process.cgroup);
            let pages = resident(process);
            program.size = pages.map_or(program.size, |pages| program.size.now(pages));
            program.growth.read(pages);
            program.moves.retain(|time| now - time < 3600.0);
            let is_pinned = process.threads.iter().any(|thread| thread.pinned);
            program.pinned = is_pinned.then(|| program.pinned.unwrap_or(now - seen.interval.0));
            let part = |llc: usize| parts(llc, process.pid);
            let beside = (domains, &busy, self.added);
            if let Some(reading) = reading(seen, process, beside, (memory, &part), self.hertz) {
                let before = program.computing();
                program.read(reading, now);
                if let Some(both) = before.zip(program.computing()) {
                    self.added.read(both.into());
                }
            } else {
                program.last = None;
            }
            self.list.push(program);
        }
        old.for_each(|gone| remember(&mut self.names, &gone, now));
        self.compare();
        self.share();
    }

    /// Shares what one program shows of computing and waiting with all programs of its kind.
    fn share(&mut self) {
        let mut best: BTreeMap<Kind, Cpi> = BTreeMap::new();
        for program in self.list.iter().filter(|program| program.last.is_some()) {
            let known = best.entry(program.kind()).or_insert(program.cpi);
            if program.cpi.range() > known.range() {
                *known = program.cpi;
            }
        }
        if best.len() < self.list.len() {
            for program in &mut self.list {
                if let Some(cpi) = best.get(&program.kind()) {
                    program.learn(cpi);
                }
            }
        }
    }

    /// Finds programs that miss about the same in their first reading: several programs of a kind
    /// at once are as much evidence as one that is read twice.
    fn compare(&mut self) {
        let mut first: BTreeMap<Kind, Vec<f64>> = BTreeMap::new();
        for program in self.list.iter().filter(|program| program.is_new()) {
            first.entry(program.kind()).or_default().push(program.missing());
        }
        first.values_mut().for_each(|misses| misses.sort_unstable_by(f64::total_cmp));
        for program in self.list.iter_mut().filter(|program| program.is_new()) {
            program.differs = first.get(&program.kind()).map_or(f64::INFINITY, |all| apart(all, program.missing()));
        }
    }

    /// Records the bytes of cache that each thread of a program holds, by position.
    pub fn hold(&mut self, at: usize, bytes: f64) {
        let program = &mut self.list[at];
        // What another cache answers does not depend on the space that the program holds.
        let fetches = program.last.is_none_or(|last| last.fetched() > MOSTLY_FETCHED);
        if !program.is_itself() || !fetches {
            return;
        }
        program.hold(bytes);
        let last = program.last.filter(|last| last.misses > FEW && !last.disturbed);
        let now = last.map(|last| (bytes, last.missed()));
        // During its first reading it may have been filling its memory; the second one shows
        // whether it was.
        if program.speeds.len() < 2 {
            program.first.extend(now);
            return;
        }
        let first = std::mem::take(&mut program.first);
        let readings = first.into_iter().filter(|_| program.looks_alike).chain(now);
        if let Some(curve) = self.curves.of(&program.kind()) {
            readings.for_each(|(bytes, missed)| curve.read(bytes, missed));
        }
    }

    /// Whether the kernel migrates pages to a program: as observed for the program itself or, if
    /// that is not known, as observed for any other program.
    #[must_use]
    pub fn follows(&self, program: &Program) -> bool {
        program.follows.is_so(self.list.iter().any(|other| other.follows.known == Some(true)))
    }
}

/// The least spread of three values of which `value` is one; infinite if there are fewer. `values`
/// are sorted, and the value is among them.
fn apart(values: &[f64], value: f64) -> f64 {
    let at = values.partition_point(|other| *other < value);
    let within = &values[(at + 1).saturating_sub(ALIKE)..values.len().min(at + ALIKE)];
    within.windows(ALIKE).map(|near| near[ALIKE - 1] - near[0]).fold(f64::INFINITY, f64::min)
}

fn remember(names: &mut BTreeMap<Arc<str>, Known>, gone: &Program, now: f64) {
    if gone.speeds.len() >= 4 && (names.len() < NAMES || names.contains_key(&gone.name)) {
        let mut cpi = gone.cpi;
        cpi.doubt(); // the next one may have another input
        let (age, before) = (now - gone.since, names.get(&gone.name).map(|known| known.life));
        let life = before.map_or(age, |life| life + LIFE_TAKEN * (age - life));
        names.insert(Arc::clone(&gone.name), Known { cpi, reuse: gone.reuse, life, misses: gone.misses });
    }
}

/// Cycles per second of CPU time, over the threads that were measured.
fn hertz(seen: &Observation) -> Option<f64> {
    let counted = |thread: &Thread| Some((num::float(thread.cycles?), thread.cpu_time?.0));
    let sums = seen.threads().filter_map(|(_, thread)| counted(thread)).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    (sums.1 > 0.01 && sums.0 > 0.0).then(|| sums.0 / sums.1)
}

/// Cycles of a thread, from its CPU time if they were not counted.
fn cycles(thread: &Thread, hertz: f64) -> Option<f64> {
    thread.cycles.map(num::float).or_else(|| Some(thread.cpu_time?.0 * hertz))
}

/// The resident pages of a process; `None` if they are not known.
#[must_use]
pub fn resident(process: &Process) -> Option<u64> {
    Some(process.pages.as_ref()?.values().map(|count| count.0).sum())
}

/// The fraction of a process's pages on each node, by position. `None` if it is not known or there
/// are no pages.
#[must_use]
pub fn weights(process: &Process, memory: &Memory) -> Option<Vec<f64>> {
    let pages = process.pages.as_ref()?;
    let mut weights = vec![0.0; memory.nodes.len()];
    for (node, count) in pages.iter() {
        weights[memory.position(node)?] += num::float(count.0);
    }
    let all: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= all.max(1.0));
    (all > 0.0).then_some(weights)
}

/// The reading of a process; `None` if it was not measured or executed nothing.
fn reading(
    seen: &Observation,
    process: &Process,
    (domains, busy, added): (&Domains, &Busy, Added),
    (memory, part): (&Memory, &dyn Fn(usize) -> Part),
    hertz: f64,
) -> Option<Reading> {
    let (mut instructions, mut all_cycles, mut misses, mut bytes) = (0.0, 0.0, 0.0, Some(0.0));
    let (mut references, mut crowding, mut running, mut delay) = (Some(0.0), 0.0, 0.0, 0.0);
    let (mut transfers, mut cache, mut apart) = (Some(0.0), None, false);
    let mut on = vec![0.0; memory.nodes.len()];
    for thread in &process.threads {
        let (Some(done), Some(missed)) = (thread.instructions, thread.llc_misses) else { continue };
        let (done, spent) = (num::float(done), cycles(thread, hertz)?);
        instructions += done;
        all_cycles += spent;
        misses += num::float(missed);
        let beside = busy.running(thread, domains);
        (running, crowding) = (running + done * beside, crowding + done * added.crowding(beside));
        references = references.and_then(|sum: f64| Some(sum + num::float(thread.llc_references?)));
        transfers = transfers.and_then(|sum: f64| Some(sum + num::float(thread.cache_transfers?)));
        bytes = bytes.and_then(|sum: f64| Some(sum + thread.bandwidth?.0 * seen.interval.0));
        let node = thread.cpu.and_then(|cpu| domains.seat_of(cpu)).and_then(|seat| domains.node_of(seat));
        if let Some(at) = node.and_then(|node: NodeId| memory.position(node)) {
            on[at] += done;
        }
        if let Some(domain) = thread.cpu.and_then(|cpu| domains.domain_of(cpu)) {
            let llc = memory.places[domain.0].llc;
            delay += done * memory.delay(domain.0, part(llc));
            if runs(thread, seen.interval.0) {
                apart |= *cache.get_or_insert(llc) != llc;
            }
        }
    }
    let ran: f64 = on.iter().sum();
    if instructions < 1000.0 || all_cycles <= 0.0 || ran <= 0.0 || seen.interval.0 <= 0.0 {
        return None;
    }
    let pages = weights(process, memory);
    let local = |at: usize| (0..on.len()).map(|to| if to == at { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
    let mut latency = 0.0;
    for (from, share) in on.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let to = pages.clone().unwrap_or_else(|| local(from));
        let mean: f64 = to.iter().enumerate().map(|(to, weight)| weight * memory.loaded(seen, from, to)).sum();
        latency += share / ran * mean;
    }
    let remote = pages
        .as_ref()
        .map(|pages| pages.iter().zip(&on).filter(|(_, ran)| **ran <= 0.0).map(|(weight, _)| weight).sum::<f64>());
    let rate = misses / instructions;
    let transfers = transfers.map(|lines| lines.min(misses));
    let fetched = misses - transfers.unwrap_or(0.0);
    Some(Reading {
        speed: instructions / seen.interval.0,
        cycles: all_cycles / instructions,
        crowding: crowding / instructions,
        running: running / instructions,
        misses: rate,
        transfers: transfers.map(|lines| lines / instructions),
        apart,
        exposure: rate * latency * hertz,
        delay: fetched / instructions * delay / instructions * hertz,
        looks: references.map(|all| all / instructions),
        lines: bytes.filter(|_| fetched > 1000.0).map(|bytes| bytes / (fetched * 64.0)),
        remote,
        resident: resident(process).map_or(0.0, num::float),
        nodes: (0..on.len()).filter(|at| on[*at] > 0.0).fold(0, |nodes, at| nodes | 1 << (at % 64)),
        disturbed: seen.page_moves.iter().any(|flight| flight.pid == process.pid),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::curves::Seen;
    use crate::isobar::part;
    use crate::test_kit::{observation, process, thread};
    use isobar_model::Seconds;

    /// A program of 1 cycle per instruction that is alone on its core, then beside another at 1.9:
    /// a thread adds `2 / 1.9 - 1`, of which a tenth is adopted each time.
    #[test]
    fn what_a_thread_adds_is_read_from_programs_that_meet_on_a_core() {
        let running = |pid: u32, cpu: u32, cycles: u64| {
            let (instructions, cycles, cpu_time) = (Some(1_000_000_000), Some(cycles), Some(Seconds(1.0)));
            process(pid, vec![Thread { instructions, cycles, cpu_time, ..thread(pid, cpu, 0.0) }])
        };
        let mut programs = Programs::default();
        let mut see = |beside: bool| {
            let (other, cycles) = if beside { (2, 1_900_000_000) } else { (1, 1_000_000_000) };
            let seen = observation("node:1 core:2 pu:2", vec![running(1, 0, cycles), running(2, other, cycles)]);
            let domains = Domains::of(&seen.machine);
            programs.read(&seen, &domains, &Memory::of(&seen, &domains).unwrap(), part::all);
            programs.added.crowding(2.0)
        };
        let first = (see(false), see(false));
        assert_eq!(first, (1.6, 1.6), "nothing was seen beside another");
        let then: Vec<f64> = [true, false].repeat(20).into_iter().map(&mut see).collect();
        assert!(then[0] > 1.6 && (then[39] - 1.9).abs() < 0.02, "{then:?}");
    }

    /// A program that fills its memory finds a twelfth of its cache lookups; then it makes twice as
    /// many lookups and finds a hundredth. What it found first is no part of its curve.
    #[test]
    fn a_first_reading_counts_once_the_second_is_like_it() {
        let curve = |readings: &[(u64, f64)]| {
            let mut programs = Programs::default();
            for (looks, missed) in readings {
                let missed = Some(num::round(num::float(*looks) * missed));
                let (instructions, llc_references) = (Some(1_000_000_000), Some(*looks));
                let thread = Thread { instructions, llc_misses: missed, llc_references, ..thread(1, 0, 0.0) };
                let seen = observation("node:1 core:1", vec![process(1, vec![thread])]);
                let domains = Domains::of(&seen.machine);
                programs.read(&seen, &domains, &Memory::of(&seen, &domains).unwrap(), part::all);
                programs.hold(0, 230_000.0);
            }
            let curve = programs.curves.get(&programs.list[0].kind()).cloned();
            format!("{:.9?}", curve.unwrap_or_default())
        };
        let (fills, chases) = ((100_000_000, 0.92), (200_000_000, 0.99));
        let read = |missed: f64, times: u32| {
            let mut seen = Seen::default();
            (0..times).for_each(|_| seen.read(230_000.0, missed));
            format!("{seen:.9?}")
        };
        assert_eq!((curve(&[fills]), curve(&[fills, fills])), (read(0.92, 0), read(0.92, 2)));
        assert_eq!(curve(&[fills, chases, chases, chases]), read(0.99, 2));
        // As it was read of another program: the lookups rise too little to be another phase.
        assert_eq!(curve(&[(183_000_000, 0.934), (212_000_000, 0.986)]), read(0.986, 1));
    }

    /// Two programs of a name that miss all of their cache lookups. From the eighth second on the
    /// first finds nearly all of them; what it then computes is adopted for the second. It is not
    /// adopted for a program of another name.
    #[test]
    fn computing_that_one_program_shows_is_known_of_its_kind() {
        // By CPI and misses per instruction, at 2.5 GHz.
        let one = |pid: u32, (cpi, misses): (f64, f64), name: &str| {
            let instructions = 2.5e9 / cpi;
            let thread = Thread {
                instructions: Some(num::round(instructions)),
                cycles: Some(2_500_000_000),
                cpu_time: Some(Seconds(1.0)),
                llc_misses: Some(num::round(instructions * misses)),
                llc_references: Some(num::round(instructions * 0.1)),
                ..thread(pid, pid, 0.0)
            };
            Process { name: name.into(), ..process(pid, vec![thread]) }
        };
        let computes = |others: &str| {
            let mut programs = Programs::default();
            for epoch in 0..16 {
                let first = if epoch < 8 { (20.0, 0.1) } else { (6.0, 0.0001) };
                let seen = observation("node:1 core:3", vec![one(1, first, "one"), one(2, (20.0, 0.1), others)]);
                let domains = Domains::of(&seen.machine);
                programs.read(&seen, &domains, &Memory::of(&seen, &domains).unwrap(), part::all);
            }
            programs.list[1].cpi.compute
        };
        let (alike, other) = (computes("one"), computes("other"));
        assert!((alike - 6.0).abs() < 0.5 && other < 3.0, "{alike} {other}");
    }

    /// Programs of a name that begin together. Three with 20, 20.5 and 21 misses are known by their
    /// first reading. Two are not, nor is one with 30 misses beside three others. One with 23 is,
    /// with the spread of the nearest three as its doubt: `ln(23 / 20.5)`.
    #[test]
    fn programs_that_are_alike_are_known_by_one_reading() {
        let known = |mpki: &[f64]| {
            let one = |(cpu, mpki): (u32, &f64)| Process {
                name: "same".into(),
                ..process(cpu + 1, vec![thread(cpu + 1, cpu, *mpki)])
            };
            let seen = observation("node:2 core:2", (0..).zip(mpki).map(one).collect());
            let domains = Domains::of(&seen.machine);
            let mut programs = Programs::default();
            programs.read(&seen, &domains, &Memory::of(&seen, &domains).unwrap(), part::all);
            programs.list.iter().map(|program| program.doubt(3)).collect::<Vec<_>>()
        };
        assert_eq!(known(&[20.0, 20.5, 21.0]), [Some(0.0); 3]);
        assert_eq!(known(&[20.0, 20.5]), [None; 2]);
        assert_eq!(known(&[20.0, 30.0, 20.5, 21.0]), [Some(0.0), None, Some(0.0), Some(0.0)]);
        let doubt = known(&[20.0, 20.5, 21.0, 23.0])[3].unwrap();
        assert!((doubt - 0.1151).abs() < 1e-3, "{doubt}");
    }
}
