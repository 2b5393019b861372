//! One program of many threads that wait for each other at its end. Each thread has its own amount
//! of work and its own distribution of misses over the nodes' memory. Page profiles are evaluated
//! with it.
//!
//! The time is computed in two ways, which share only the contention model.
//! [`PlacedThreads::at_once`] lets all threads run side by side for ever and takes the slowest.
//! [`PlacedThreads::in_steps`] lets threads end one after the other, so that the remaining threads
//! contend with fewer.

use crate::machine::MachineSpec;
use isobar_contention::{Budget, Demand, MissCurve, NoAnswer, Place, Question, Solver};
use isobar_model::{CpuId, num};
use std::collections::BTreeMap;

/// Threads that would end within this factor of the time of the first are taken to end with it.
const TOGETHER: f64 = 1.01;
/// Footprint in bytes, so large that the cache saves no misses: the caller has already subtracted
/// the hits.
const FOOTPRINT: f64 = 1e12;

/// Where a thread runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seat {
    /// Node and LLC, by position.
    pub place: Place,
    /// The fraction of its CPU that it gets.
    pub share: f64,
    /// The factor on its computing time because of other threads of its core.
    pub crowding: f64,
}

/// The work of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Instructions until its end.
    pub instructions: f64,
    /// LLC misses until its end by the node whose memory serves them, by position.
    pub misses: Vec<f64>,
}

/// What all threads have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traits {
    /// Cycles per instruction without LLC misses, with a core to itself.
    pub cpi: f64,
    /// Misses in flight together.
    pub mlp: f64,
    /// Lines written back for each line read.
    pub write_back: f64,
}

/// Threads on a machine.
#[derive(Clone, Debug)]
pub struct PlacedThreads<'a> {
    machine: &'a MachineSpec,
    threads: Vec<(Demand, f64)>,
}

/// A seat for each thread, given its node (by position). Threads take the CPUs of a node in order,
/// and start again at the first if there are more threads than CPUs. `None` if a node does not
/// exist or has no CPU.
#[must_use]
pub fn seats(machine: &MachineSpec, nodes: &[u16]) -> Option<Vec<Seat>> {
    let mut cpus: BTreeMap<usize, Vec<CpuId>> = BTreeMap::new();
    machine.places.iter().for_each(|(cpu, place)| cpus.entry(place.node).or_default().push(*cpu));
    let (mut taken, mut load) = (BTreeMap::new(), BTreeMap::new());
    let mut chosen = Vec::new();
    for node in nodes {
        let (of_node, next) = (cpus.get(&usize::from(*node))?, taken.entry(*node).or_insert(0_usize));
        let cpu = of_node[*next % of_node.len()];
        *next += 1;
        *load.entry(cpu).or_insert(0_usize) += 1;
        chosen.push(cpu);
    }
    let mut busy: BTreeMap<_, u32> = BTreeMap::new();
    let core: BTreeMap<_, _> = machine.topology.cpus().iter().map(|cpu| (cpu.id, cpu.core)).collect();
    load.keys().for_each(|cpu| *busy.entry(core.get(cpu)).or_default() += 1);
    let seat = |cpu: &CpuId| Seat {
        place: machine.places[cpu],
        share: 1.0 / num::float_len(load[cpu]),
        crowding: machine.smt.crowding(busy[&core.get(cpu)]),
    };
    Some(chosen.iter().map(seat).collect())
}

/// Bytes of each last-level cache, by position.
#[must_use]
pub fn cache_bytes(machine: &MachineSpec) -> Vec<f64> {
    machine.memory.llcs().iter().map(|llc| llc.bytes).collect()
}

impl<'a> PlacedThreads<'a> {
    /// Threads in their seats. A thread without instructions does not count.
    #[must_use]
    pub fn new(machine: &'a MachineSpec, seats: &[Seat], work: &[Work], traits: Traits) -> Self {
        let real = seats.iter().zip(work).filter(|(_, work)| work.instructions > 0.0);
        let threads = real.map(|(seat, work)| (demand(machine, seat, work, traits), work.instructions));
        Self { machine, threads: threads.collect() }
    }

    /// Seconds until the slowest thread ends if all threads contend all the time.
    ///
    /// # Errors
    /// [`NoAnswer`] of the contention model.
    pub fn at_once(&self) -> Result<f64, NoAnswer> {
        let (threads, left): (Vec<_>, Vec<_>) = self.threads.iter().cloned().unzip();
        let rates = self.rates(&mut Solver::default(), &threads)?;
        Ok(left.iter().zip(rates).map(|(left, rate)| left / rate).fold(0.0, f64::max))
    }

    /// Seconds until the last thread ends if each thread contends until its own end.
    ///
    /// # Errors
    /// [`NoAnswer`] of the contention model.
    pub fn in_steps(&self) -> Result<f64, NoAnswer> {
        let (mut threads, mut left): (Vec<_>, Vec<_>) = self.threads.iter().cloned().unzip();
        let (mut solver, mut seconds) = (Solver::default(), 0.0);
        while !threads.is_empty() {
            let rates = self.rates(&mut solver, &threads)?;
            let need = left.iter().zip(&rates).map(|(left, rate)| left / rate);
            let ends: Vec<f64> = need.collect();
            let first = ends.iter().copied().fold(f64::INFINITY, f64::min);
            let last = ends.iter().copied().filter(|end| *end <= first * TOGETHER).fold(0.0, f64::max);
            seconds += last;
            let stays = |at: &usize| ends[*at] > first * TOGETHER;
            let rest: Vec<usize> = (0..threads.len()).filter(stays).collect();
            left = rest.iter().map(|at| left[*at] - rates[*at] * last).collect();
            threads = rest.iter().map(|at| threads[*at].clone()).collect();
        }
        Ok(seconds)
    }

    fn rates(&self, solver: &mut Solver, threads: &[Demand]) -> Result<Vec<f64>, NoAnswer> {
        let question = Question { machine: &self.machine.memory, threads, copy: None };
        Ok(solver.ask(&question, Budget::default())?.rates.clone())
    }
}

fn demand(machine: &MachineSpec, seat: &Seat, work: &Work, traits: Traits) -> Demand {
    let misses: f64 = work.misses.iter().sum();
    let weight = |(node, count): (usize, &f64)| match misses > 0.0 {
        true => count / misses,
        false => f64::from(u8::from(node == seat.place.node)),
    };
    Demand {
        share: seat.share,
        place: seat.place,
        mask: u64::MAX,
        compute: traits.cpi * seat.crowding / machine.hertz,
        curve: MissCurve::parametric(1000.0 * misses / work.instructions, 0.0, 1.0),
        factor: 1.0,
        mlp: traits.mlp,
        prefetch: 0.0,
        write_back: traits.write_back,
        footprint: FOOTPRINT,
        reach: 1.0,
        weights: work.misses.iter().enumerate().map(weight).collect(),
        delay: 0.0,
        held: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAITS: Traits = Traits { cpi: 1.0, mlp: 1.0, write_back: 0.0 };

    fn xeon() -> MachineSpec {
        crate::machine::find("xeon-4x8").unwrap()
    }

    fn work(instructions: f64, misses: [f64; 4]) -> Work {
        Work { instructions, misses: misses.to_vec() }
    }

    /// One instruction in a thousand misses: 120 ns local and 180 ns remote, in addition to 0.5 ns
    /// per instruction, at 2 GHz. A single thread hardly waits in queues.
    #[test]
    fn one_thread_takes_its_computing_and_its_misses() {
        let machine = xeon();
        let seats = seats(&machine, &[0]).unwrap();
        for (misses, expected) in [([1e6, 0.0, 0.0, 0.0], 0.62), ([0.0, 1e6, 0.0, 0.0], 0.68), ([0.0; 4], 0.5)] {
            let gang = PlacedThreads::new(&machine, &seats, &[work(1e9, misses)], TRAITS);
            for found in [gang.at_once().unwrap(), gang.in_steps().unwrap()] {
                assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
            }
        }
    }

    /// Sixteen hardware threads of a node share eight cores; a seventeenth shares a CPU.
    #[test]
    fn seats_fill_the_cpus_of_a_node() {
        let machine = xeon();
        let both = seats(&machine, &[2; 16]).unwrap();
        assert!(both.iter().all(|seat| seat.place.node == 2 && seat.share.to_bits() == 1.0_f64.to_bits()));
        assert!(both.iter().all(|seat| (seat.crowding - 2.0 / 1.25).abs() < 1e-9), "{both:?}");
        let more = seats(&machine, &[2; 17]).unwrap();
        assert_eq!(more.iter().filter(|seat| seat.share < 0.6).count(), 2);
        assert!(seats(&machine, &[4]).is_none());
    }

    /// Fifteen short threads load one controller beside a long one. In steps, the long thread soon
    /// has the controller to itself, so `at_once` is never faster. At the end only the slowest
    /// thread counts.
    #[test]
    fn threads_that_ended_contend_no_more() {
        let (machine, busy) = (xeon(), Traits { mlp: 8.0, ..TRAITS });
        let seats = seats(&machine, &[0; 16]).unwrap();
        let mut all = vec![work(1e8, [4e6, 0.0, 0.0, 0.0]); 16];
        let even = PlacedThreads::new(&machine, &seats, &all, busy);
        let (at_once, in_steps) = (even.at_once().unwrap(), even.in_steps().unwrap());
        assert!((at_once / in_steps - 1.0).abs() < 1e-6, "{at_once} {in_steps}");
        all[0] = work(1e9, [4e7, 0.0, 0.0, 0.0]);
        let uneven = PlacedThreads::new(&machine, &seats, &all, busy);
        let (at_once, in_steps) = (uneven.at_once().unwrap(), uneven.in_steps().unwrap());
        assert!(at_once > 1.2 * in_steps, "{at_once} {in_steps}");
        let alone = PlacedThreads::new(&machine, &seats[..1], &all[..1], busy).in_steps().unwrap();
        assert!(in_steps > alone, "{in_steps} {alone}");
    }

    #[test]
    fn a_gang_without_work_takes_no_time() {
        let machine = xeon();
        let seats = seats(&machine, &[0, 1]).unwrap();
        let idle = PlacedThreads::new(&machine, &seats, &vec![work(0.0, [0.0; 4]); 2], TRAITS);
        assert_eq!((idle.at_once().unwrap(), idle.in_steps().unwrap()), (0.0, 0.0));
    }
}
