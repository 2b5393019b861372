//! Random machines with random programs, on which properties are tried, and the observations made
//! from them.

mod congestion;

use isobar_model::topology::synthetic::synthetic;
use isobar_model::{
    Bytes, CacheClass, CpuId, CpuSet, Nanoseconds, NodeMap, NodeMatrix, Observation, Pages, Pid, Process, Thread, Tid,
    num,
};
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct ThreadSeed {
    pub cpu: u32,
    pub mpki: Option<u16>,
    pub pinned: bool,
    pub allowed: Option<u64>,
}

/// Threads, pages by node, NUMA penalty, class and critical point.
pub type ProcessSeed = (Vec<ThreadSeed>, Option<Vec<u32>>, Option<f64>, Option<(CacheClass, u32)>);

#[derive(Clone, Debug)]
pub struct Case {
    pub machine: String,
    pub processes: Vec<ProcessSeed>,
    /// Miss rates of later intervals, by rotation of the first ones.
    pub rotations: Vec<usize>,
    pub memory: MemorySeed,
}

/// What is known of the memory of up to four nodes.
#[derive(Clone, Debug)]
pub struct MemorySeed {
    /// Latencies by pair of nodes, if they were probed; all of them differ.
    pub latency: Option<Vec<u32>>,
    /// Free pages of each node, if they are known.
    pub free: Option<Vec<u32>>,
    /// Pages that were accessed, in per cent of the resident ones, if that was measured.
    pub accessed: Option<u32>,
}

fn memory() -> impl Strategy<Value = MemorySeed> {
    let latency = prop::option::weighted(0.8, prop::collection::vec(10u32..100, 16));
    let free = prop::option::weighted(0.9, prop::collection::vec(0u32..60_000, 4));
    (latency, free, prop::option::of(0u32..=100)).prop_map(|(latency, free, accessed)| MemorySeed {
        latency,
        free,
        accessed,
    })
}

fn thread() -> impl Strategy<Value = ThreadSeed> {
    let mpki = prop_oneof![1 => Just(None), 3 => (0u16..3).prop_map(Some), 6 => (0u16..200).prop_map(Some)];
    let allowed = prop_oneof![8 => Just(None), 1 => any::<u64>().prop_map(Some)];
    (any::<u32>(), mpki, prop::bool::weighted(0.05), allowed).prop_map(|(cpu, mpki, pinned, allowed)| ThreadSeed {
        cpu,
        mpki,
        pinned,
        allowed,
    })
}

pub fn case() -> impl Strategy<Value = Case> {
    let machine =
        (1u32..5, 1u32..3, 1u32..5, 1u32..3).prop_map(|(n, l, c, p)| format!("node:{n} llc:{l} core:{c} pu:{p}"));
    let pages = prop::option::of(prop::collection::vec(0u32..20_000, 4));
    let penalty = prop::option::of((100u32..150).prop_map(|percent| f64::from(percent) / 100.0));
    let class = prop_oneof![Just(CacheClass::LightSharing), Just(CacheClass::Streaming), Just(CacheClass::Sensitive)];
    let process = (prop::collection::vec(thread(), 1..6), pages, penalty, prop::option::of((class, 1u32..20)));
    (machine, prop::collection::vec(process, 0..14), prop::collection::vec(0usize..9, 0..4), memory())
        .prop_map(|(machine, processes, rotations, memory)| Case { machine, processes, rotations, memory })
}

/// The observations of a case; pids and tids are spread by `rename`.
pub fn observations(case: &Case, rename: impl Fn(u32) -> u32) -> Vec<Observation> {
    std::iter::once(0)
        .chain(case.rotations.iter().copied())
        .map(|rotation| observation(case, rotation, &rename))
        .collect()
}

fn observation(case: &Case, rotation: usize, rename: &impl Fn(u32) -> u32) -> Observation {
    let machine = Arc::new(synthetic(&case.machine).unwrap());
    let rates: Vec<_> =
        case.processes.iter().flat_map(|(threads, ..)| threads.iter().map(|thread| thread.mpki)).collect();
    let cpus = num::narrow(machine.cpus().len());
    let mut next = 0;
    let processes = case.processes.iter().map(|(seeds, pages, penalty, class)| {
        let pid = Pid(rename(num::narrow(next)));
        let threads = seeds.iter().map(|seed| {
            let tid = Tid(rename(num::narrow(next)));
            let rate = rates[(next + rotation) % rates.len()];
            next += 1;
            make_thread(tid, seed, rate, cpus)
        });
        let threads = threads.collect();
        let by_node = |pages: &Vec<u32>| -> NodeMap<Pages> {
            machine.nodes().iter().zip(pages).map(|(node, &pages)| (node.id, Pages(pages.into()))).collect()
        };
        Process {
            pid,
            name: "p".into(),
            pages: pages.as_ref().map(by_node),
            accessed_pages: pages.as_ref().and_then(|pages| {
                let percent = case.memory.accessed?;
                Some(by_node(&pages.iter().map(|pages| pages * percent / 100).collect()))
            }),
            numa_penalty: *penalty,
            cache_class: class.map(|(class, _)| class),
            critical_ways: class.map(|(_, critical)| critical),
            threads,
            ..Process::default()
        }
    });
    let mut seen = Observation::bare(Arc::clone(&machine), processes.collect());
    measure_memory(&mut seen, &case.memory, rotation);
    seen
}

fn measure_memory(seen: &mut Observation, seed: &MemorySeed, rotation: usize) {
    let nodes: Vec<_> = seen.machine.nodes().iter().map(|node| node.id).collect();
    for (node, pages) in nodes.iter().zip(seed.free.iter().flatten()) {
        seen.free.insert(*node, Bytes(u64::from(*pages) * 4096));
    }
    if let Some(cells) = &seed.latency {
        let cell = |index: usize| Nanoseconds(f64::from(cells[(index + rotation) % 16] * 16 + num::narrow(index)));
        let row = |from: usize| (0..nodes.len()).map(|to| cell(from * 4 + to)).collect();
        seen.latency = NodeMatrix::from_rows(nodes.clone(), (0..nodes.len()).map(row).collect());
    }
}

fn make_thread(tid: Tid, seed: &ThreadSeed, mpki: Option<u16>, cpus: u32) -> Thread {
    let allowed =
        seed.allowed.map(|bits| (0..cpus).filter(|cpu| bits >> (cpu % 64) & 1 == 1).map(CpuId).collect::<CpuSet>());
    Thread {
        cpu: Some(CpuId(seed.cpu % cpus)),
        allowed_cpus: allowed.filter(|allowed| !allowed.is_empty()),
        pinned: seed.pinned,
        instructions: mpki.map(|_| 1_000_000),
        cycles: mpki.map(|mpki| 1_000_000 + 20_000 * u64::from(mpki)),
        llc_misses: mpki.map(|mpki| u64::from(mpki) * 1000),
        ..Thread::unmeasured(tid)
    }
}
