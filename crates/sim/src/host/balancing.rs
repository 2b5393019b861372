//! Automatic NUMA balancing, as the kernel does it (`kernel/sched/fair.c` of Linux 6.x;
//! `Documentation/admin-guide/sysctl/kernel.rst`, `numa_balancing_*`). Memory is made inaccessible
//! window by window, the fault on the next access shows which thread uses a page, and pages move to
//! the node of the thread that faults. A workload switches it with `numa_balancing`.
//!
//! - **Scan.** Starting one second after its start (`scan_delay_ms`), a process loses access to 256
//!   MiB (`scan_size_mb`) at a time. The period between two windows is such that a pass over all
//!   memory takes one second (`scan_period_min_ms`), but windows are at least 100 ms apart
//!   (`MAX_SCAN_WINDOW`). After each pass the period adapts (`update_task_scan_period`): it grows
//!   if accesses are private or local, shrinks if they are remote and shared, and doubles if
//!   nothing faulted, up to 60 s a pass (`scan_period_max_ms`). It returns to its initial value
//!   when a thread leaves its preferred node (`update_scan_period`).
//! - **Faults.** A page faults when it is next accessed. Accesses are counted by LLC misses, so
//!   that a working set in the cache does not fault. A page moves when it faults on the same node
//!   twice in a row (`should_numa_migrate_memory`); as long as no more than four passes are
//!   complete, a private page moves at the first fault. Shared pages move only if that brings the
//!   memory nearer to the distribution of accesses, with the kernel's hysteresis of 3 to 4.
//! - **Cost.** In the kernel, the thread that faults spends the time of the fault, and of the copy,
//!   which it makes itself. Here the time is charged evenly to the threads of the process.
//!
//! No constant here was fitted. That a memory-intensive program's pages follow it in about 6 s (6.2
//! s in Divide&Content, section on `min_migration_period`) follows from the periods above.
//! Departures: one scan period per process, not per thread; threads do not follow their memory
//! (`task_numa_migrate`); the traffic of these copies is not added to controllers and links; pages
//! of 4 KiB only; no rate limit, which was removed from the kernel in 4.20. Huge pages of a pool
//! (`memory_node`) and memory under a policy of its own (`spread`) are not scanned, as in the
//! kernel (`vma_policy_mof`).

use super::SimMachine;
use super::memory::Memory;
use super::process::Process;
use crate::machine::MachineSpec;
use crate::program::Program;
use isobar_model::num;

/// `scan_delay_ms`, in seconds.
const SCAN_DELAY: f64 = 1.0;
/// `scan_size_mb`, in base pages.
const WINDOW: f64 = 65_536.0;
/// `scan_period_min_ms` and `scan_period_max_ms` of a whole pass, and the least time between two
/// windows, all in seconds.
const PASS: (f64, f64, f64) = (1.0, 60.0, 0.1);
/// `NUMA_PERIOD_SLOTS`, `NUMA_PERIOD_THRESHOLD`.
const SLOTS: (f64, f64) = (10.0, 7.0);
/// As long as no more passes than this are complete, the first fault moves a page.
const EARLY: u32 = 4;
/// `ACTIVE_NODE_FRACTION`, and the hysteresis of shared faults.
const SHARED: (f64, f64) = (3.0, 4.0 / 3.0);
/// Seconds of a hinting fault (estimate: a minor fault on x86).
const FAULT: f64 = 1e-6;
/// Seconds to make a page inaccessible (estimate: one page-table entry; the flush is shared by a
/// window).
const PROTECT: f64 = 2e-8;
/// Seconds of a page move without its copy, and lines of the copy in flight. Both are as for moves
/// that a plan requests, see `isobar_contention`.
const MOVE: (f64, f64) = (4e-6, 4.0);
const PAGE_LINES: f64 = 64.0;

/// What the kernel knows about a process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Balancing {
    /// Seconds from the start of the process to its next window, and between windows.
    next: f64,
    period: f64,
    /// Passes completed, and pages scanned in the current pass.
    passes: u32,
    scanned: f64,
    /// Faults of this pass: local, remote, private, shared.
    faults: [f64; 4],
    /// Faults whose time is still to be charged.
    unpaid: f64,
    /// Pages by region, class and node.
    bins: Vec<[Vec<Bin>; 2]>,
    /// Misses and node of each thread when last read.
    seen: Vec<(f64, usize)>,
}

/// Pages of one region and class on one node.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bin {
    /// Inaccessible since the last scan.
    armed: f64,
    /// Pages by the node of their last fault; the remaining pages have never faulted.
    last: Vec<f64>,
}

/// The users of a region: accesses per second by node.
struct Users {
    rates: Vec<f64>,
    shared: bool,
}

/// Pages to move: region, class, from, to, count.
type Moves = Vec<(usize, usize, usize, usize, u64)>;

impl SimMachine {
    /// Runs the kernel's scans and the page faults for the time that has passed.
    pub(super) fn balance_memory(&mut self, seconds: f64) {
        if !self.workload.run.numa_balancing || self.workload.machine.pages.len() < 2 || seconds <= 0.0 {
            return;
        }
        let machine = std::sync::Arc::clone(&self.workload.machine);
        for (p, process) in self.processes.iter_mut().enumerate() {
            let app = &self.workload.apps[process.app];
            if process.gone || app.memory_node.is_some() || !app.spread.is_empty() {
                continue;
            }
            let new = || Balancing::new(process, &app.program, &machine);
            let mut state = self.balancing.remove(&p).unwrap_or_else(new);
            let moved = state.pass(process, &app.program, &machine, seconds, self.now);
            self.totals[process.app].pages_moved += moved;
            self.changed |= moved > 0;
            self.balancing.insert(p, state);
        }
    }
}

impl Balancing {
    fn new(process: &Process, program: &Program, machine: &MachineSpec) -> Self {
        let nodes = machine.pages.len();
        let bin = Bin { armed: 0.0, last: vec![0.0; nodes] };
        let bins = vec![[vec![bin.clone(); nodes], vec![bin; nodes]]; process.threads.len() + 1];
        let mut state = Self {
            next: SCAN_DELAY,
            period: 0.0,
            passes: 0,
            scanned: 0.0,
            faults: [0.0; 4],
            unpaid: 0.0,
            bins,
            seen: Vec::new(),
        };
        state.seen = state.look(process, machine);
        state.period = range(process, program).0;
        state
    }

    fn look(&self, process: &Process, machine: &MachineSpec) -> Vec<(f64, usize)> {
        process.threads.iter().map(|thread| (thread.misses, machine.places[&thread.cpu].node)).collect()
    }

    /// Handles faults, moves and scans for some seconds; returns how many pages moved.
    fn pass(&mut self, process: &mut Process, program: &Program, machine: &MachineSpec, seconds: f64, now: f64) -> u64 {
        let users = self.users(process, machine, seconds);
        self.notice_moves(process, program, machine);
        let share = |region: usize| if region + 1 < self.bins.len() { 1.0 - program.shared } else { program.shared };
        let single = process.threads.len() == 1;
        let parts: Vec<f64> = (0..self.bins.len()).map(|r| if single { 1.0 } else { share(r) }).collect();
        let mut moves = Moves::new();
        for (region, users) in users.iter().enumerate() {
            for (class, share) in [(0, program.hot_accesses), (1, 1.0 - program.hot_accesses)] {
                let accesses = parts[region] * share * seconds;
                self.fault((region, class), users, accesses, &process.memory, &mut moves);
            }
        }
        let moved = self.carry_out(process, machine, &moves);
        while now - process.start >= self.next {
            self.scan(process, program);
        }
        moved
    }

    /// Accesses per second to each region by node, counted in LLC misses.
    fn users(&mut self, process: &Process, machine: &MachineSpec, seconds: f64) -> Vec<Users> {
        let now = self.look(process, machine);
        let mut users: Vec<Users> = Vec::new();
        let mut all = vec![0.0; machine.pages.len()];
        for ((misses, node), (before, _)) in now.iter().zip(&self.seen) {
            let mut rates = vec![0.0; machine.pages.len()];
            rates[*node] = (misses - before).max(0.0) / seconds;
            all[*node] += rates[*node];
            users.push(Users { rates, shared: false });
        }
        users.push(Users { rates: all, shared: true });
        self.seen.iter_mut().zip(now).for_each(|(seen, (misses, _))| seen.0 = misses);
        users
    }

    /// When a thread leaves the node with most of its memory, the scan period returns to its
    /// initial value.
    fn notice_moves(&mut self, process: &Process, program: &Program, machine: &MachineSpec) {
        for (t, (seen, (_, node))) in self.seen.clone().iter().zip(self.look(process, machine)).enumerate() {
            if seen.1 == node {
                continue;
            }
            self.seen[t].1 = node;
            let weights = process.memory.weights(t, node, machine.pages.len());
            let preferred = (0..weights.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b]));
            if self.passes > 0 && preferred == Some(seen.1) {
                self.period = range(process, program).0;
            }
        }
    }

    /// The faults on one class of pages of a region. `accesses` is the number of accesses to the
    /// class per access per second of the region's users.
    fn fault(&mut self, at: (usize, usize), users: &Users, accesses: f64, memory: &Memory, moves: &mut Moves) {
        let pages: Vec<f64> = memory.pages(at.0, at.1).iter().map(|count| num::float(*count)).collect();
        let (total, rate): (f64, f64) = (pages.iter().sum(), users.rates.iter().sum());
        if total <= 0.0 || rate <= 0.0 {
            return;
        }
        // The chance that a page is accessed is 1 - exp(-x). It is computed in a form that gives
        // the same result on every platform.
        let mean = accesses * rate / total;
        let chance = mean / (1.0 + mean);
        for (node, here) in pages.iter().enumerate() {
            let early = self.passes <= EARLY;
            let bin = &mut self.bins[at.0][at.1][node];
            bin.fit(*here);
            let faulted = if bin.armed < 1.0 { bin.armed } else { bin.armed * chance };
            bin.armed -= faulted;
            self.unpaid += faulted;
            for (user, part) in users.rates.iter().enumerate().filter(|(_, part)| **part > 0.0) {
                let count = faulted * part / rate;
                self.faults[usize::from(user != node)] += count;
                self.faults[2 + usize::from(users.shared)] += count;
                let bin = &mut self.bins[at.0][at.1][node];
                let passing = if early && !users.shared { 1.0 } else { bin.passing(user, *here) };
                let wanted = user != node && (!users.shared || nearer(users, &pages, node, user));
                let moving = if wanted { count * passing } else { 0.0 };
                bin.record(user, count, *here);
                // Whole pages move; less than a thousandth of a page is rounding.
                if moving > 1e-3 {
                    moves.push((at.0, at.1, node, user, num::round(moving.ceil())));
                }
            }
        }
    }

    /// Moves pages and charges the threads that fault.
    fn carry_out(&mut self, process: &mut Process, machine: &MachineSpec, moves: &Moves) -> u64 {
        let mut moved = 0;
        let mut spent = 0.0;
        for (region, class, from, to, count) in moves {
            let count = process.memory.take(*region, *class, *from, *to, *count);
            moved += count;
            let copy = MOVE.0 + PAGE_LINES * machine.memory.latency()[*to][*from] / MOVE.1;
            spent += num::float(count) * copy;
            let [from, to] = [*from, *to].map(|node| (node, num::float(count)));
            let bins = &mut self.bins[*region][*class];
            bins[from.0].last[to.0] = (bins[from.0].last[to.0] - from.1).max(0.0);
            bins[to.0].last[to.0] += to.1;
        }
        spent += std::mem::take(&mut self.unpaid) * FAULT;
        owe(process, spent);
        moved
    }

    /// Makes the next window inaccessible. At the end of a pass the period adapts.
    fn scan(&mut self, process: &mut Process, program: &Program) {
        let resident = process.memory.resident();
        let window = WINDOW.min(resident - self.scanned).max(0.0);
        for (region, bins) in self.bins.iter_mut().enumerate() {
            for (class, bins) in bins.iter_mut().enumerate() {
                for (bin, pages) in bins.iter_mut().zip(process.memory.pages(region, class)) {
                    let pages = num::float(*pages);
                    bin.armed = (bin.armed + pages * window / resident.max(1.0)).min(pages);
                }
            }
        }
        owe(process, window * PROTECT);
        self.scanned += window;
        if self.scanned >= resident {
            self.scanned = 0.0;
            self.passes += 1;
            self.adapt(range(process, program));
        }
        self.next += self.period;
    }

    /// `update_task_scan_period`.
    fn adapt(&mut self, (least, most): (f64, f64)) {
        let [local, remote, private, shared] = std::mem::take(&mut self.faults);
        if local + remote < 1.0 {
            self.period = (2.0 * self.period).min(most);
            return;
        }
        let (slots, threshold) = SLOTS;
        let ratio = |part: f64, rest: f64| (part * slots / (part + rest)).floor();
        let (local, private) = (ratio(local, remote), ratio(private, shared));
        let slot = if private >= threshold {
            (private - threshold).max(1.0)
        } else if local >= threshold {
            (local - threshold).max(1.0)
        } else {
            local.max(private) - threshold
        };
        self.period = (self.period + slot * self.period / slots).clamp(least, most);
    }
}

impl Bin {
    /// Limits the counts to the pages that are still there: other code may have moved pages away.
    fn fit(&mut self, pages: f64) {
        self.armed = self.armed.min(pages);
        let marked: f64 = self.last.iter().sum();
        if marked > pages {
            self.last.iter_mut().for_each(|count| *count *= pages / marked);
        }
    }

    /// The fraction of the pages that last faulted on a node, or never faulted.
    fn passing(&self, node: usize, pages: f64) -> f64 {
        let others: f64 = self.last.iter().sum::<f64>() - self.last[node];
        (1.0 - others / pages.max(1.0)).clamp(0.0, 1.0)
    }

    /// Records that `count` pages, chosen at random, faulted on a node.
    fn record(&mut self, node: usize, count: f64, pages: f64) {
        let kept = (1.0 - count / pages.max(1.0)).max(0.0);
        self.last.iter_mut().for_each(|last| *last *= kept);
        self.last[node] += count;
    }
}

/// Whether moving a shared page brings memory nearer to the accesses.
fn nearer(users: &Users, pages: &[f64], from: usize, to: usize) -> bool {
    let (there, here) = (users.rates[to], users.rates[from]);
    there > SHARED.0 * here || there * pages[from] > SHARED.1 * here * pages[to]
}

/// Least and greatest period between two windows (`task_scan_min`, `task_scan_max`), lengthened by
/// shared faults of many threads.
fn range(process: &Process, program: &Program) -> (f64, f64) {
    let windows = (process.memory.resident() / WINDOW).ceil().max(1.0);
    let slower = (num::float_len(process.threads.len()) * program.shared).max(1.0);
    let least = (PASS.0 / windows).max(PASS.2) * slower;
    (least, (PASS.1 / windows).max(least))
}

/// Charges the kernel's time to the process, evenly among its threads.
fn owe(process: &mut Process, seconds: f64) {
    let threads = num::float_len(process.threads.len());
    process.threads.iter_mut().for_each(|thread| thread.owed += seconds / threads);
}

#[cfg(test)]
mod tests;
