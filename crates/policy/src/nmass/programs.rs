//! Program characterization (section 3.2): the threads of every process, its home, its cache
//! pressure (MPKI) and its NUMA penalty. The notes say which processes and threads are left out,
//! and why.

use super::config::Config;
use super::home::{Homes, NearestCpus};
use super::penalty::Penalty;
use crate::kit::domains::{Domains, SeatId};
use crate::kit::group::{Groups, Member};
use crate::kit::previous::PreviousValues;
use crate::kit::words::listed;
use isobar_model::{CpuSet, Mpki, NodeId, Observation, Pid, Process, Tid};
use std::ops::Range;

/// Maximum number of processes that are named in one note.
pub const NAMED: usize = 5;

/// A process that may be mapped.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// The process.
    pub process: &'a Process,
    /// Its home.
    pub home: NodeId,
    /// Its NUMA penalty.
    pub penalty: Penalty,
    /// Its threads, as positions in [`Groups::members`].
    pub members: Range<usize>,
    /// The sum of its threads' MPKI: its pressure if it runs locally.
    pub pressure: f64,
    /// Whether one of its threads may use only some CPUs.
    pub confined: bool,
}

/// Everything on which a decision rests.
#[derive(Debug)]
pub struct Programs<'a> {
    /// The threads that may be mapped, and the load of those that may not.
    pub groups: Groups<'a>,
    /// The MPKI of each member.
    pub rates: Vec<f64>,
    /// The programs, ascending by pid.
    pub list: Vec<Program<'a>>,
    /// Pressure of threads pinned by their owner, at the seats where they are.
    pub pinned: Vec<(SeatId, f64)>,
    /// Threads of processes without a home, ascending by pid, then tid.
    pub homeless: Vec<Homeless>,
    /// Number of threads on each seat that no plan moves: pinned ones, and homeless ones that ran.
    pub load: Vec<u32>,
    /// Notes on what was left out.
    pub notes: Vec<String>,
}

/// A thread of a process without a home. No node is local to it, so no penalty is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Homeless {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// Where it ran last.
    pub seat: SeatId,
    /// Its MPKI in this interval, or else the last known one.
    pub pressure: f64,
    /// Whether it ran in this interval.
    pub ran: bool,
}

/// The last known miss rate of each thread, ascending by pid, then tid.
#[derive(Clone, Debug, Default)]
pub struct Rates(Vec<((Pid, Tid), Mpki)>);

impl Rates {
    /// The rate of each thread in this interval, or else its last one.
    pub fn update(&mut self, seen: &Observation) -> Vec<Option<Mpki>> {
        let mut before = PreviousValues::take_from(&mut self.0);
        let mut rates = Vec::new();
        for (process, thread) in seen.threads() {
            let id = (process.pid, thread.tid);
            let old = before.take(&id);
            let rate = thread.mpki().or(old);
            self.0.extend(rate.map(|rate| (id, rate)));
            rates.push(rate);
        }
        rates
    }
}

/// What is remembered of programs from interval to interval.
#[derive(Clone, Debug, Default)]
pub struct Characterizer {
    rates: Rates,
    homes: Homes,
}

impl Characterizer {
    /// The programs of an observation.
    pub fn programs<'a>(&mut self, seen: &'a Observation, domains: &Domains, config: &Config) -> Programs<'a> {
        let rates = self.rates.update(seen);
        let homes =
            self.homes.update(&NearestCpus::on(&seen.machine), &seen.processes, config.home_margin_percent / 100.0);
        let process_of = |(at, process): (usize, &Process)| std::iter::repeat_n(at, process.threads.len());
        let process_of: Vec<usize> = seen.processes.iter().enumerate().flat_map(process_of).collect();
        let measured = |index: usize| rates[index].is_some() && homes[process_of[index]].is_some();
        let groups = Groups::of(seen, domains, |index, _| measured(index));
        let of_member = |member: &Member<'_>| rates[member.index].map_or(0.0, |rate| rate.0);
        let member_rates: Vec<f64> = groups.members.iter().map(of_member).collect();
        let list = form(seen, &groups.members, &member_rates, &homes, config);
        let pinned = pinned(seen, domains, &rates, &homes, config);
        let homeless = homeless(seen, domains, &rates, &homes);
        let mut load = groups.load.clone();
        homeless.iter().filter(|thread| thread.ran).for_each(|thread| load[thread.seat.0] += 1);
        let notes = left_out(seen, &groups, &rates, &homes);
        Programs { groups, rates: member_rates, list, pinned, homeless, load, notes }
    }
}

fn form<'a>(
    seen: &'a Observation,
    members: &[Member<'a>],
    rates: &[f64],
    homes: &[Option<NodeId>],
    config: &Config,
) -> Vec<Program<'a>> {
    let mut programs = Vec::new();
    let mut first = 0;
    for together in members.chunk_by(|a, b| a.process == b.process) {
        let members = first..first + together.len();
        first = members.end;
        let process = &seen.processes[together[0].process];
        let Some(home) = homes[together[0].process] else { continue };
        let rates = &rates[members.clone()];
        let penalty = config.penalty(process, rates);
        let online = seen.machine.online();
        let is_confined = |allowed: &CpuSet| !online.is_subset(allowed);
        let confined = together.iter().any(|member| member.thread.allowed_cpus.as_ref().is_some_and(is_confined));
        programs.push(Program { process, home, penalty, members, pressure: rates.iter().sum(), confined });
    }
    programs
}

/// The pressure of threads that their owner pinned. Remote ones are weighted like other threads.
fn pinned(
    seen: &Observation,
    domains: &Domains,
    rates: &[Option<Mpki>],
    homes: &[Option<NodeId>],
    config: &Config,
) -> Vec<(SeatId, f64)> {
    let mut pinned = Vec::new();
    let threads = (0..).zip(&seen.processes).flat_map(|(at, process)| process.threads.iter().map(move |it| (at, it)));
    for ((at, thread), rate) in threads.zip(rates).filter(|((_, thread), _)| thread.pinned) {
        let (Some(seat), Some(rate)) = (thread.cpu.and_then(|cpu| domains.seat_of(cpu)), rate) else { continue };
        let remote = homes[at].is_some() && homes[at] != domains.node_of(seat);
        let weight = if remote { config.penalty(&seen.processes[at], &[rate.0]).value } else { 1.0 };
        pinned.push((seat, rate.0 * weight));
    }
    pinned
}

/// The threads of processes without a home that their owner did not pin.
fn homeless(seen: &Observation, domains: &Domains, rates: &[Option<Mpki>], homes: &[Option<NodeId>]) -> Vec<Homeless> {
    let homes = homes.iter().zip(&seen.processes).flat_map(|(home, it)| std::iter::repeat_n(home, it.threads.len()));
    let threads = seen.threads().zip(rates).zip(homes);
    let left = threads.filter(|(((_, thread), _), home)| home.is_none() && !thread.pinned);
    left.filter_map(|(((process, thread), rate), _)| {
        Some(Homeless {
            pid: process.pid,
            tid: thread.tid,
            seat: domains.seat_of(thread.cpu?)?,
            pressure: rate.map_or(0.0, |rate| rate.0),
            ran: thread.instructions.is_some_and(|count| count > 0),
        })
    })
    .collect()
}

fn left_out(seen: &Observation, groups: &Groups<'_>, rates: &[Option<Mpki>], homes: &[Option<NodeId>]) -> Vec<String> {
    let without = |counted: bool| -> Vec<&str> {
        let homeless = seen.processes.iter().zip(homes).filter(|(_, home)| home.is_none()).map(|(process, _)| process);
        let has_pages =
            |process: &&Process| process.pages.as_ref().is_some_and(|pages| pages.values().any(|count| count.0 > 0));
        homeless.filter(|process| has_pages(process) == counted).map(|process| &*process.name).collect()
    };
    let unmeasured = rates.iter().filter(|rate| rate.is_none()).count();
    let mut notes = Vec::new();
    for (counted, why) in
        [(false, "their pages are not counted by node"), (true, "no node has more than half of their pages")]
    {
        let names = without(counted);
        if !names.is_empty() {
            notes.push(format!("left alone, since {why}: {}", listed(&names, NAMED)));
        }
    }
    if unmeasured > 0 {
        notes.push(format!(
            "left alone, since their miss rate was not measured yet: {unmeasured} of {} threads",
            rates.len()
        ));
    }
    if groups.pinned > 0 {
        notes.push(format!("left alone, since their owner pinned them: {} of {} threads", groups.pinned, rates.len()));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nmass::test_kit::observation;
    use crate::test_kit::thread;

    #[test]
    fn pressure_is_the_sum_over_threads_and_sleepers_keep_their_rate() {
        let mut seen = observation("node:2 core:2", &[(1, 0, 5.0, None, &[10, 0]), (5, 1, 1.0, Some(1.3), &[0, 9])]);
        seen.processes[0].threads.push(thread(2, 1, 7.0));
        let domains = Domains::of(&seen.machine);
        let mut characterizer = Characterizer::default();
        let pressures = |characterizer: &mut Characterizer, seen: &Observation| -> Vec<f64> {
            characterizer
                .programs(seen, &domains, &Config::default())
                .list
                .iter()
                .map(|program| program.pressure)
                .collect()
        };
        assert_eq!(pressures(&mut characterizer, &seen), [12.0, 1.0]);
        seen.processes[0].threads[1].instructions = Some(0);
        assert_eq!(pressures(&mut characterizer, &seen), [12.0, 1.0]);
    }

    #[test]
    fn a_process_without_a_home_takes_its_cores_and_adds_its_pressure() {
        let rows = [(1, 0, 5.0, Some(1.5), &[9, 9][..]), (2, 3, 1.0, Some(1.3), &[0, 9])];
        let seen = observation("node:2 core:2", &rows);
        let domains = Domains::of(&seen.machine);
        let found = Characterizer::default().programs(&seen, &domains, &Config::default());
        assert_eq!(found.list.len(), 1);
        let left = Homeless { pid: Pid(1), tid: Tid(1), seat: SeatId(0), pressure: 5.0, ran: true };
        assert_eq!((found.homeless, found.load), (vec![left], vec![1, 0, 0, 0]), "nowhere remote");
        assert_eq!(found.notes, ["left alone, since no node has more than half of their pages: p1"]);
    }

    #[test]
    fn notes_name_what_is_left_out() {
        let mut seen = observation(
            "node:2 core:2",
            &[(1, 0, 5.0, None, &[]), (2, 1, 1.0, None, &[0, 9]), (3, 2, 8.0, Some(1.5), &[9, 0])],
        );
        seen.processes[1].threads[0].instructions = None;
        seen.processes[2].threads[0].pinned = true;
        let domains = Domains::of(&seen.machine);
        let found = Characterizer::default().programs(&seen, &domains, &Config::default());
        assert!(found.list.is_empty());
        assert_eq!(
            found.notes,
            [
                "left alone, since their pages are not counted by node: p1",
                "left alone, since their miss rate was not measured yet: 1 of 3 threads",
                "left alone, since their owner pinned them: 1 of 3 threads"
            ]
        );
        assert_eq!(found.pinned, [(SeatId(2), 12.0)], "8 MPKI, remote with a penalty of 1.5");
    }
}
