//! Compares the machine with a slow and simple one: lists of lines with the time of their last use,
//! searched from beginning to end. Any sequence of accesses, flushes, masks and classes must give
//! the same stalls, counters and occupancies.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

use numasim_model::{CpuCounters, Machine, NODES, Spec};
use proptest::prelude::*;

const CPUS: usize = 4;
/// The first address of node 1, and an address that is no node's memory.
const NODE1: u64 = 64 << 20;
const NOWHERE: u64 = 1 << 31;

/// Four CPUs on two nodes; private caches of 4 sets and 4 ways, LLCs of 8 sets and 6 ways.
fn spec() -> Spec {
    let text = include_str!("../../../machines/small-2x2.toml")
        .replace("size_kib = 8\nways = 8", "size_kib = 1\nways = 4\nhit_ns = 3.0")
        .replace("size_kib = 256\nways = 16", "size_kib = 3\nways = 6\nclos = 3")
        .replace("memory_mib = 512", "memory_mib = 64");
    Spec::parse(&text, "reference").unwrap()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Access { cpu: usize, addr: u64, store: bool },
    Sweep { cpu: usize, addr: u64, lines: u64, down: bool },
    Flush { addr: u64 },
    Mask { llc: usize, clos: usize, mask: u64 },
    Class { cpu: usize, clos: usize },
}

fn address() -> impl Strategy<Value = u64> {
    (prop_oneof![8 => Just(0), 8 => Just(NODE1), 1 => Just(NOWHERE)], 0..160_u64, 0..64_u64)
        .prop_map(|(base, line, byte)| base + 64 * line + byte)
}

fn step() -> impl Strategy<Value = Step> {
    let cpu = 0..CPUS;
    prop_oneof![
        20 => (cpu.clone(), address(), any::<bool>()).prop_map(|(cpu, addr, store)| Step::Access { cpu, addr, store }),
        3 => (cpu.clone(), address(), 1..12_u64, any::<bool>()).prop_map(|(cpu, addr, lines, down)| Step::Sweep { cpu, addr, lines, down }),
        2 => address().prop_map(|addr| Step::Flush { addr }),
        1 => (0..2_usize, 0..3_usize, 1..64_u64).prop_map(|(llc, clos, mask)| Step::Mask { llc, clos, mask }),
        1 => (cpu, 0..3_usize).prop_map(|(cpu, clos)| Step::Class { cpu, clos }),
    ]
}

/// A place for a line. The last used line has the greatest time; empty places are older than any
/// line.
#[derive(Clone, Copy, Debug)]
struct Slot {
    line: Option<u64>,
    dirty: bool,
    /// In a private cache: whether other caches may have it.
    shared: bool,
    clos: usize,
    used: i64,
}

const EMPTY: Slot = Slot { line: None, dirty: false, shared: false, clos: 0, used: 0 };

/// All places of a cache; a line may lie in the places of its set.
struct Slots {
    all: Vec<Slot>,
    sets: u64,
    ways: usize,
    now: i64,
}

impl Slots {
    fn new(sets: u64, ways: usize) -> Self {
        let all = (0..sets).flat_map(|_| (0_i64..).take(ways).map(|way| Slot { used: -way, ..EMPTY })).collect();
        Self { all, sets, ways, now: 0 }
    }

    fn set(&mut self, line: u64) -> &mut [Slot] {
        let first = (line % self.sets) as usize * self.ways;
        &mut self.all[first..first + self.ways]
    }

    fn find(&mut self, line: u64) -> Option<&mut Slot> {
        self.set(line).iter_mut().find(|slot| slot.line == Some(line))
    }

    fn touch(&mut self, line: u64) -> bool {
        self.now += 1;
        let now = self.now;
        self.find(line).map(|slot| slot.used = now).is_some()
    }

    fn fill(&mut self, line: u64, mask: u64, clos: usize) -> Slot {
        self.now += 1;
        let now = self.now;
        let ways = self.set(line).iter_mut().enumerate().filter(|(way, _)| mask >> way & 1 == 1);
        let oldest = ways.map(|(_, slot)| slot).min_by_key(|slot| slot.used).unwrap();
        std::mem::replace(oldest, Slot { line: Some(line), clos, used: now, ..EMPTY })
    }

    /// Removes a line; returns whether it was dirty.
    fn flush(&mut self, line: u64) -> bool {
        let oldest = self.set(line).iter().map(|slot| slot.used).min().unwrap().min(-100);
        self.find(line).is_some_and(|slot| std::mem::replace(slot, Slot { used: oldest - 1, ..EMPTY }).dirty)
    }
}

/// See the head of the file.
struct Slow {
    private: Vec<Slots>,
    llcs: Vec<Slots>,
    masks: [[u64; 3]; 2],
    classes: [usize; CPUS],
    counters: [CpuCounters; CPUS],
    bytes: [u64; 2],
    /// (lowest line, highest line, lean), the last used one first.
    runs: [Vec<(u64, u64, i64)>; CPUS],
}

fn node(line: u64) -> Option<usize> {
    [(0, 0..NODE1 / 64), (1, NODE1 / 64..2 * NODE1 / 64)]
        .into_iter()
        .find(|(_, lines)| lines.contains(&line))
        .map(|(node, _)| node)
}

impl Slow {
    fn new() -> Self {
        Self {
            private: (0..CPUS).map(|_| Slots::new(4, 4)).collect(),
            llcs: (0..2).map(|_| Slots::new(8, 6)).collect(),
            masks: [[0x3f; 3]; 2],
            classes: [0; CPUS],
            counters: [CpuCounters::default(); CPUS],
            bytes: [0; 2],
            runs: std::array::from_fn(|_| Vec::new()),
        }
    }

    fn access(&mut self, cpu: usize, addr: u64, store: bool) -> u64 {
        let line = addr / 64;
        self.counters[cpu].accesses += 1;
        let stall = if !self.private[cpu].touch(line) {
            self.miss(cpu, line, store)
        } else if store && self.private[cpu].find(line).unwrap().shared {
            let (_, far, _) = self.others(cpu, line, true);
            if far { 2_000_000 } else { 400_000 }
        } else {
            3000
        };
        let slot = self.private[cpu].find(line).unwrap();
        slot.dirty |= store;
        slot.shared &= !store;
        self.counters[cpu].stall_ps += stall;
        stall
    }

    fn miss(&mut self, cpu: usize, line: u64, store: bool) -> u64 {
        let (stall, shared) = node(line).map_or((0, false), |node| self.fetch(cpu, line, node, store));
        let old = self.private[cpu].fill(line, u64::MAX, 0);
        self.private[cpu].find(line).unwrap().shared = shared;
        if let Some(gone) = old.line.filter(|line| old.dirty && node(*line).is_some()) {
            match self.llcs[cpu / 2].find(gone) {
                Some(slot) => slot.dirty = true,
                None => self.write_back(cpu, gone),
            }
        }
        stall
    }

    /// Removes the copies of other caches, or makes them shared. Returns whether there was one,
    /// whether one was in or below the other LLC, and which CPU had changed it.
    fn others(&mut self, cpu: usize, line: u64, store: bool) -> (bool, bool, Option<usize>) {
        let (mut found, mut far, mut writer) = (false, false, None);
        for llc in 0..2 {
            let places = (2 * llc..2 * llc + 2).filter(|other| *other != cpu).map(|other| (false, other));
            for (is_llc, at) in places.chain([(true, llc)].into_iter().filter(|_| llc != cpu / 2)) {
                let cache = if is_llc { &mut self.llcs[at] } else { &mut self.private[at] };
                let Some(slot) = cache.find(line) else { continue };
                let owner = if is_llc { 2 * at } else { at };
                writer = writer.or(slot.dirty.then_some(owner));
                (found, far) = (true, far || llc != cpu / 2);
                (slot.dirty, slot.shared) = (false, true);
                if store {
                    cache.flush(line);
                    self.counters[cpu].invalidated += 1;
                }
            }
        }
        (found, far, writer)
    }

    fn fetch(&mut self, cpu: usize, line: u64, node: usize, store: bool) -> (u64, bool) {
        let depth = if self.covers(cpu, line) { 8 } else { 1 };
        let llc = cpu / 2;
        let here = self.llcs[llc].touch(line);
        let (found, far, writer) = self.others(cpu, line, store);
        let near = writer.is_some_and(|writer| writer / 2 == llc);
        let memory = !here && writer.is_none();
        if !here {
            let class = self.classes[cpu];
            let old = self.llcs[llc].fill(line, self.masks[llc][class], class);
            old.line.filter(|_| old.dirty).into_iter().for_each(|gone| self.write_back(cpu, gone));
        }
        let counters = &mut self.counters[cpu];
        counters.private_misses += 1;
        counters.prefetched += u64::from(depth == 8);
        counters.hitm_local += u64::from(near);
        counters.hitm_remote += u64::from(writer.is_some() && !near);
        counters.llc_hits += u64::from(near || (here && writer.is_none()));
        counters.llc_misses += u64::from(memory || (writer.is_some() && !near));
        counters.misses_by_node[node] += u64::from(memory || (writer.is_some() && !near));
        counters.bytes_read += if memory { 64 } else { 0 };
        self.bytes[node] += if memory { 64 } else { 0 };
        let cost = match writer {
            Some(_) => {
                if near {
                    800_000
                } else {
                    2_000_000
                }
            }
            None if here => 400_000,
            None => {
                if llc == node {
                    1_200_000
                } else {
                    2_000_000
                }
            }
        };
        if let Some(writer) = writer.filter(|_| !store) {
            if near { self.llcs[llc].find(line).unwrap().dirty = true } else { self.write_back(writer, line) }
        }
        let cost = if store && far && depth == 1 { cost.max(2_000_000) } else { cost / depth };
        (cost, found && !store)
    }

    fn covers(&mut self, cpu: usize, line: u64) -> bool {
        let runs = &mut self.runs[cpu];
        let near = |(low, high, _): &(u64, u64, i64)| (*low..=*high).any(|one| one.abs_diff(line) <= 4);
        let (low, high, lean) = runs.iter().position(near).map_or((line, line, 0), |at| runs.remove(at));
        let (run, sure) = if line > high {
            ((low.max(line.saturating_sub(8)), line, (lean + 1).min(3)), lean + 1 >= 2)
        } else if line < low {
            ((line, high.min(line + 8), (lean - 1).max(-3)), lean - 1 <= -2)
        } else {
            ((low, high, lean), lean.abs() >= 2)
        };
        runs.insert(0, run);
        runs.truncate(8);
        sure
    }

    fn write_back(&mut self, cpu: usize, line: u64) {
        self.counters[cpu].bytes_written += 64;
        self.bytes[node(line).unwrap()] += 64;
    }

    fn flush(&mut self, addr: u64) {
        let line = addr / 64;
        let dirty: Vec<_> = self.private.iter_mut().map(|cache| cache.flush(line)).collect();
        let below: Vec<_> = self.llcs.iter_mut().map(|cache| cache.flush(line)).collect();
        let llc = below.iter().position(|dirty| *dirty).map(|llc| 2 * llc);
        let writer = dirty.iter().position(|dirty| *dirty).or(llc);
        writer.filter(|_| node(line).is_some()).into_iter().for_each(|cpu| self.write_back(cpu, line));
    }
}

/// One step on both machines; returns all stalls in it.
fn both(fast: &mut Machine, slow: &mut Slow, step: Step) -> (Vec<u64>, Vec<u64>) {
    let mut stalls = (Vec::new(), Vec::new());
    let mut access = |cpu, addr, store| {
        stalls.0.push(fast.access(cpu, addr, store));
        stalls.1.push(slow.access(cpu, addr, store));
    };
    match step {
        Step::Access { cpu, addr, store } => access(cpu, addr, store),
        Step::Sweep { cpu, addr, lines, down } => {
            (0..lines).for_each(|at| access(cpu, if down { addr + 64 * (lines - at) } else { addr + 64 * at }, false));
        }
        Step::Flush { addr } => {
            fast.flush(addr);
            slow.flush(addr);
        }
        Step::Mask { llc, clos, mask } => {
            fast.set_mask(llc, clos, mask).unwrap();
            slow.masks[llc][clos] = mask;
        }
        Step::Class { cpu, clos } => {
            fast.set_class(cpu, clos).unwrap();
            slow.classes[cpu] = clos;
        }
    }
    stalls
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_machine_does_what_the_obvious_one_does(steps in proptest::collection::vec(step(), 1..600)) {
        let (mut fast, mut slow) = (Machine::new(&spec()).unwrap(), Slow::new());
        for (position, step) in steps.iter().enumerate() {
            let (got, right) = both(&mut fast, &mut slow, *step);
            prop_assert_eq!(got, right, "step {}: {:?}", position, step);
        }
        for cpu in 0..CPUS {
            prop_assert_eq!(fast.cpu_counters(cpu), slow.counters[cpu]);
        }
        prop_assert_eq!(fast.node_counters().map(|node| node.bytes).collect::<Vec<_>>(), slow.bytes.to_vec());
        for (llc, cache) in slow.llcs.iter().enumerate() {
            for clos in 0..3 {
                let held = cache.all.iter().filter(|slot| slot.line.is_some() && slot.clos == clos).count() as u64;
                prop_assert_eq!(fast.occupancy(llc, clos), Some(held));
            }
        }
    }

    #[test]
    fn the_same_sequence_gives_the_same_counters(steps in proptest::collection::vec(step(), 1..300)) {
        let run = || {
            let (mut machine, mut unused) = (Machine::new(&spec()).unwrap(), Slow::new());
            for (position, step) in steps.iter().enumerate() {
                both(&mut machine, &mut unused, *step);
                if position % 10 == 9 {
                    machine.window(20_000_000, &[20_000_000; CPUS]);
                }
            }
            let cpus: Vec<_> = (0..CPUS).map(|cpu| machine.cpu_counters(cpu)).collect();
            (cpus, machine.node_counters().collect::<Vec<_>>(), machine.link_counters().collect::<Vec<_>>())
        };
        prop_assert_eq!(run(), run());
    }

    /// The counters of CPUs and those of controllers and links are two sums over the same lines.
    #[test]
    fn what_cpus_move_is_what_controllers_carry(steps in proptest::collection::vec(step(), 1..300)) {
        let (mut machine, mut unused) = (Machine::new(&spec()).unwrap(), Slow::new());
        steps.iter().for_each(|step| { both(&mut machine, &mut unused, *step); });
        let all: Vec<_> = (0..CPUS).map(|cpu| machine.cpu_counters(cpu)).collect();
        let moved: u64 = all.iter().map(|one| one.bytes_read + one.bytes_written).sum();
        prop_assert_eq!(machine.node_counters().map(|node| node.bytes).sum::<u64>(), moved);
        for one in &all {
            prop_assert_eq!(one.llc_hits + one.llc_misses, one.private_misses);
            prop_assert_eq!(one.misses_by_node.iter().sum::<u64>(), one.llc_misses);
            prop_assert_eq!(one.misses_by_node[2..].to_vec(), vec![0; NODES - 2]);
        }
        machine.reset_counters();
        prop_assert!((0..CPUS).all(|cpu| machine.cpu_counters(cpu) == CpuCounters::default()));
        prop_assert!(machine.node_counters().all(|node| node.bytes + node.busy_ps == 0));
        prop_assert!(machine.link_counters().all(|link| link.bytes + link.busy_ps == 0));
    }
}
