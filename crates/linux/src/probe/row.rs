//! What one probing thread does in a round: timed loads from every node's memory, on one CPU.
//!
//! For each page: flush eight lines, wait for that, read another line of the page so that its
//! translation is in the TLB, then load the eight lines, each load's address depending on the value
//! of the one before. If the timer is fine (x86-64) each load is timed by itself, otherwise all
//! eight together. The time of the same instructions with lines in the nearest cache is measured in
//! the same round and subtracted: the rest is what the way to memory adds. Pages of all nodes take
//! turns, so that all are measured under the same load.
//!
//! Samples are dropped if the thread was switched out meanwhile (`getrusage(2)`, `RUSAGE_THREAD`),
//! or ended on another CPU: the counters of two sockets need not agree, so both readings must be of
//! one CPU.

use super::figures::{Figures, figures, median};
use super::instructions::{fence, flush};
use super::memory::Buffer;
use super::pattern::{LOADS, Pattern};
use super::reason::NotMeasured;
use super::timer::Timer;
use crate::kernel::{affinity, clock};
use isobar_model::{CpuId, CpuSet, NodeId, Tid, num};
use rustix::thread::{gettid, sched_getcpu};
use rustix::time::ClockId;
use std::time::Duration;

/// Number of pages probed per node in a round (CAMM).
pub const PAGES: usize = 20;

/// Number of timings of lines in the nearest cache, of which the median is subtracted.
const NEAR: usize = 31;

/// Number of times that this is tried if the counter stands still.
const TRIES: usize = 3;

/// If a load from memory takes less than this fraction of one from the nearest cache, it was not
/// timed: the counter stood still. Hypervisors and emulators cause that after they took the CPU
/// away.
const STILL: f64 = 0.5;

/// One round of a thread.
#[derive(Clone, Debug)]
pub struct RowReading {
    /// What was measured, by the node of the memory.
    pub cells: Vec<(NodeId, Result<Figures, NotMeasured>)>,
    /// CPU time of the thread since its last round.
    pub cost: Duration,
    /// Number of pages that were found on another node, and allocated again.
    pub rebound: usize,
}

/// The state of a probing thread.
#[derive(Debug)]
pub struct Row {
    node: NodeId,
    /// The CPUs of the node that it may use.
    cpus: CpuSet,
    buffers: Vec<Result<Buffer, NotMeasured>>,
    targets: Vec<NodeId>,
    timer: Timer,
    pattern: Pattern,
    spent: Duration,
}

impl Row {
    /// Loads from `node` to each of `targets`, on one of `cpus`.
    pub fn new(node: NodeId, cpus: CpuSet, targets: Vec<NodeId>) -> Self {
        let (buffers, timer) = (Vec::new(), Timer::here());
        Self { node, cpus, buffers, targets, timer, pattern: Pattern::new(node.0), spent: Duration::ZERO }
    }

    /// Probes every target, on the calling thread and one CPU: on `best` if the thread may use it.
    pub fn read(&mut self, best: Option<CpuId>) -> RowReading {
        let mut rebound = 0;
        let cells = match self.pin(best) {
            Ok(()) => self.probe(&mut rebound),
            Err(why) => self.targets.iter().map(|target| (*target, Err(why.clone()))).collect(),
        };
        // The kernel can then wake the thread on an idle CPU next time. If this is refused, the
        // thread stays.
        let _ = set(&self.cpus);
        let now = clock::now(ClockId::ThreadCPUTime);
        let cost = now.saturating_sub(std::mem::replace(&mut self.spent, now));
        RowReading { cells, cost, rebound }
    }

    /// Binds the thread to one CPU for this round: the best, otherwise the one on which the kernel
    /// woke it, which is an idle one if there is any. A CPU kept for good would be shared with
    /// whatever came to run there, and the work delayed by the probe would be missing from the
    /// load.
    fn pin(&self, best: Option<CpuId>) -> Result<(), NotMeasured> {
        let one = |cpu: CpuId| [cpu].into_iter().collect::<CpuSet>();
        if best.is_some_and(|cpu| self.cpus.contains(cpu) && set(&one(cpu)).is_ok()) {
            return Ok(());
        }
        set(&self.cpus).map_err(|_| NotMeasured::NoCpu(self.node))?;
        set(&one(here())).map_err(NotMeasured::refused("cannot stay on one CPU"))
    }

    fn probe(&mut self, rebound: &mut usize) -> Vec<(NodeId, Result<Figures, NotMeasured>)> {
        if self.buffers.is_empty() {
            let bytes = PAGES * rustix::param::page_size();
            self.buffers = self.targets.iter().map(|target| Buffer::new(*target, bytes, false)).collect();
        }
        let settled = |buffer: &Result<Buffer, NotMeasured>| match buffer {
            Ok(buffer) => buffer.settle(),
            Err(why) => Err(why.clone()),
        };
        let settled: Vec<_> = self.buffers.iter().map(settled).collect();
        let mut times = vec![Times::default(); self.buffers.len()];
        let bare = (0..TRIES).find_map(|_| near(self.timer));
        for page in 0..PAGES {
            for ((buffer, settled), times) in self.buffers.iter().zip(&settled).zip(&mut times) {
                if let (Ok(buffer), Ok(_), Some(bare)) = (buffer, settled, bare) {
                    let order = self.pattern.next(buffer.page_size());
                    times.page(self.timer, bare, order.map(|offset| buffer.word(page, offset)), buffer.word(page, 0));
                }
            }
        }
        *rebound += settled.iter().flatten().sum::<usize>();
        let cells = self.targets.iter().zip(settled).zip(times);
        cells.map(|((target, settled), times)| (*target, settled.and_then(|_| self.figures(times)))).collect()
    }

    fn figures(&self, mut times: Times) -> Result<Figures, NotMeasured> {
        let found = figures(&mut times.ns, times.dropped).ok_or(NotMeasured::Interrupted(self.node))?;
        Ok(Figures { median_cycles: self.timer.cycles(found.median_ns), ..found })
    }
}

/// Nanoseconds a load.
#[derive(Clone, Debug, Default)]
struct Times {
    ns: Vec<f64>,
    dropped: usize,
}

impl Times {
    /// Flushes and loads some lines of a page; `first` is another line of it; `bare` is the result
    /// of [`near`].
    fn page(&mut self, timer: Timer, bare: f64, lines: [*const usize; LOADS], first: *const usize) {
        // SAFETY: as in `Times::load`. A flush needs the translation, too.
        std::hint::black_box(unsafe { first.read_volatile() });
        lines.iter().for_each(|line| flush(line.cast()));
        fence();
        self.load(timer, bare, lines, first);
    }

    fn load(&mut self, timer: Timer, bare: f64, lines: [*const usize; LOADS], first: *const usize) {
        let before = (here(), switches());
        // SAFETY: callers pass addresses within mappings that they hold; no thread writes to them
        // now.
        let mut carried = unsafe { first.read_volatile() };
        let together = together(timer);
        let mut ticks = [0.0; LOADS];
        let groups = LOADS / together;
        for (group, ticks) in lines.chunks(together).zip(&mut ticks) {
            *ticks = num::float(time(timer, group, &mut carried));
        }
        if (here(), switches()) != before {
            self.dropped += groups;
            return;
        }
        // If nothing is cached (an emulator), there may be no difference: it is below a tick.
        let each = |ticks: &f64| timer.ns((ticks - bare).max(1.0)) / num::float_len(together);
        let timed = ticks[..groups].iter().filter(|ticks| **ticks >= STILL * bare);
        let kept = self.ns.len();
        self.ns.extend(timed.map(each));
        self.dropped += groups - (self.ns.len() - kept);
    }
}

/// Ticks that loads take one after the other, always by the same code. `carried` is what the last
/// load read: 0, as everywhere in these pages, but the CPU cannot know the next address before it
/// has the value.
#[inline(never)]
fn time(timer: Timer, lines: &[*const usize], carried: &mut usize) -> u64 {
    let began = timer.now();
    for line in lines {
        // SAFETY: as in `Times::load`; what is carried is 0.
        *carried = unsafe { line.wrapping_byte_add(*carried).read_volatile() };
    }
    timer.now().saturating_sub(began)
}

/// Ticks of the same timing when all lines are in the nearest cache. `None` if the counter stood
/// still for half of the timings; a kernel clock may be too coarse to see it move.
fn near(timer: Timer) -> Option<f64> {
    let words: [usize; LOADS] = std::hint::black_box([0; LOADS]);
    let lines: [*const usize; LOADS] = std::array::from_fn(|index| &raw const words[index]);
    let mut ticks = Vec::with_capacity(NEAR);
    for round in 0..=NEAR {
        let took = num::float(time(timer, &lines[..together(timer)], &mut 0));
        // The first round brings the lines into the cache.
        ticks.extend((round > 0).then_some(took));
    }
    ticks.sort_unstable_by(f64::total_cmp);
    median(&ticks).filter(|ticks| *ticks > 0.0 || !timer.is_fine())
}

/// Number of loads in one timing.
fn together(timer: Timer) -> usize {
    if timer.is_fine() { 1 } else { LOADS }
}

/// Sets the CPUs of this thread.
fn set(cpus: &CpuSet) -> std::io::Result<()> {
    affinity::set(Tid(gettid().as_raw_nonzero().get().unsigned_abs()), cpus)
}

/// The CPU that this thread runs on.
fn here() -> CpuId {
    CpuId(num::narrow(sched_getcpu()))
}

/// How often this thread was switched out, voluntarily or not.
fn switches() -> (i64, i64) {
    // SAFETY: plain integers, for which zeros are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills in the structure, which lives through the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    (usage.ru_nvcsw, usage.ru_nivcsw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tree::Tree;

    fn row() -> Row {
        let machine = crate::topology::read(&Tree::live()).unwrap();
        let usable = affinity::get(Tid(gettid().as_raw_nonzero().get().unsigned_abs())).unwrap();
        let node = machine.nodes()[0].id;
        let cpus = machine.cpus_of_node(node).unwrap().intersection(&usable);
        Row::new(node, cpus, vec![node])
    }

    fn latency(row: &mut Row) -> f64 {
        row.read(None).cells[0].1.clone().unwrap().median_ns
    }

    /// The same loads of the same lines without a flush before: they come from a cache.
    fn cached(timer: Timer, buffer: &Buffer) -> f64 {
        let (mut pattern, mut times, bare) = (Pattern::new(1), Times::default(), near(timer).unwrap());
        for page in 0..PAGES {
            let lines = pattern.next(buffer.page_size()).map(|offset| buffer.word(page, offset));
            for _ in 0..2 {
                times.load(timer, bare, lines, buffer.word(page, 0));
            }
        }
        times.ns.sort_unstable_by(f64::total_cmp);
        median(&times.ns).unwrap()
    }

    #[test]
    fn the_loads_are_of_memory_and_not_of_a_cache() {
        let mut row = row();
        let probed = latency(&mut row);
        let buffer = row.buffers[0].as_ref().unwrap();
        let cache = cached(row.timer, buffer);
        eprintln!("memory {probed} ns, cache {cache} ns");
        assert!(probed > 5.0 * cache.max(1.0), "memory {probed} ns, cache {cache} ns");
        assert!((20.0..5000.0).contains(&probed), "{probed} ns");
    }

    #[test]
    fn a_round_has_a_cost_and_leaves_the_thread_the_cpus_of_the_node() {
        let mut row = row();
        row.read(None);
        let second = row.read(Some(here()));
        assert!(second.cost > Duration::ZERO && second.cost < Duration::from_millis(50), "{:?}", second.cost);
        assert_eq!(second.rebound, 0);
        let own = Tid(gettid().as_raw_nonzero().get().unsigned_abs());
        assert_eq!(affinity::get(own).unwrap(), row.cpus);
        let figures = second.cells[0].1.clone().unwrap();
        let most = if row.timer.is_fine() { PAGES * LOADS } else { PAGES };
        assert_eq!(figures.kept + figures.dropped, most);
        assert!(figures.median_ns <= figures.p95_ns);
    }
}
