//! Measures what a live sample costs: CPU time, not wall time, of `Sensors::sample` over a child
//! process with 1,000 sleeping and 100 busy threads (goal: under 20 ms). The parsers are measured
//! by criterion.

// The criterion macros generate items without documentation. A benchmark that cannot run may panic
// to say so.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, criterion_group};
use isobar_linux::kernel::identity;
use isobar_linux::kernel::numa_maps;
use isobar_linux::kernel::stat;
use isobar_linux::probe::Prober;
use isobar_linux::sensors::accessed::{Accessed, Watched};
use isobar_linux::sensors::{CounterSource, Sensing, SensorOptions, Sensors};
use isobar_linux::topology;
use isobar_linux::tree::Tree;
use isobar_model::topology::{Cpu, Node, Parts, Topology};
use isobar_model::{CoreId, CpuSet, NodeId, Pid};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const ROLE: &str = "ISOBAR_BENCH_CHILD";
const LIFETIME: Duration = Duration::from_secs(30);
const SLEEPING: usize = 1000;
const BUSY: usize = 100;
const ROUNDS: usize = 16;

fn main() {
    if let Some(role) = std::env::var_os(ROLE) {
        crowd(role == "one process");
        return;
    }
    if std::env::args().any(|argument| argument == "--bench") {
        for layout in ["one process", "100 processes"] {
            for counters in [CounterSource::Auto, CounterSource::Software] {
                live(layout, counters);
            }
        }
    }
    if std::env::args().any(|argument| argument == "--bench") {
        probe();
        accessed();
    }
    parsers();
    Criterion::default().configure_from_args().final_summary();
}

/// Prints the CPU time of each node's probing thread in a round (goal: under 200 us for each node
/// probed).
fn probe() {
    let machine = topology::read(&Tree::live()).unwrap();
    let mut prober = Prober::start(&machine).unwrap();
    let mut costs = BTreeMap::<NodeId, Vec<Duration>>::new();
    for _ in 0..200 {
        for (node, cost) in prober.round().cost.iter() {
            costs.entry(node).or_default().push(*cost);
        }
        thread::sleep(Duration::from_millis(5));
    }
    for (node, mut costs) in costs {
        costs.sort_unstable();
        println!(
            "probe of node {node}: {:?} (median), {:?} (95 %)",
            costs[costs.len() / 2],
            costs[costs.len() * 95 / 100]
        );
    }
}

/// Prints what it costs to see which of 256 MiB of pages this process accesses: the CPU time of a
/// step that reads and clears, by the engine that this machine has.
fn accessed() {
    const PAGES: usize = 1 << 16;
    let memory = vec![1u8; PAGES * 4096];
    let mut accessed = Accessed::default();
    accessed.switch_on();
    let (own, resident) = (Pid(std::process::id()), PAGES as u64);
    let start = identity::process(own).unwrap().start;
    let mut costs = Vec::new();
    for round in 0..ROUNDS {
        black_box(memory.iter().step_by(4096).map(|byte| u64::from(*byte)).sum::<u64>());
        let before = cpu_seconds();
        accessed.refresh(&[Watched { pid: own, start, resident }], round as u64);
        costs.push((cpu_seconds() - before) * 1e3);
        thread::sleep(Duration::from_millis(20));
    }
    let seen = accessed.by_node(own, start).map(|nodes| nodes.values().map(|pages| pages.0).sum::<u64>());
    costs.sort_by(f64::total_cmp);
    println!(
        "{:?}: {PAGES} pages touched, {seen:?} seen; CPU ms a step: median {:.2}, worst {:.2}",
        accessed.remarks(),
        costs[ROUNDS / 2],
        costs[ROUNDS - 1]
    );
}

/// Prints the CPU time, in milliseconds, of each of some samples, half a second apart.
fn live(layout: &str, counters: CounterSource) {
    let children: Vec<_> = (0..if layout == "one process" { 1 } else { 100 }).map(|_| start(layout)).collect();
    let mut sensors = Sensors::open(SensorOptions { counters, ..SensorOptions::default() }, machine()).unwrap();
    let mut costs: Vec<f64> = Vec::new();
    let mut threads = 0;
    for _ in 0..ROUNDS {
        let before = cpu_seconds();
        let sample = sensors.sample().unwrap();
        costs.push((cpu_seconds() - before) * 1e3);
        threads = sample.processes.iter().map(|process| process.threads.len()).sum();
        thread::sleep(Duration::from_millis(500));
    }
    children.into_iter().for_each(stop);
    let first = costs.remove(0);
    costs.sort_by(f64::total_cmp);
    let mean = costs.iter().sum::<f64>() / isobar_model::num::float_len(costs.len());
    let (median, worst) = (costs[costs.len() / 2], costs[costs.len() - 1]);
    println!(
        "live sample, {layout}, {SLEEPING} sleeping + {BUSY} busy, {threads} threads in all, counters {counters:?}: \
         median {median:.2} ms, mean {mean:.2} ms, worst {worst:.2} ms of CPU (first {first:.2} ms)"
    );
}

/// User and system time of this process, in seconds.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let count = |value: i64| isobar_model::num::float(u64::try_from(value).unwrap_or(0));
    count(time.tv_sec) + count(time.tv_nsec) / 1e9
}

fn start(layout: &str) -> Child {
    let own = std::env::current_exe().unwrap();
    let mut child = Command::new(own).env(ROLE, layout).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    child
}

fn stop(mut child: Child) {
    drop(child.stdin.take());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The child: all threads, or a hundredth of them. It ends with its parent, or after half a minute.
fn crowd(whole: bool) {
    let share = if whole { 1 } else { 100 };
    rustix::process::nice(19).unwrap();
    let until = Instant::now() + LIFETIME;
    let spin = move || {
        while Instant::now() < until {
            (0..10_000).for_each(|number| {
                black_box(number);
            });
        }
    };
    let small = || thread::Builder::new().stack_size(64 << 10);
    for _ in 0..SLEEPING / share {
        small().spawn(|| thread::sleep(LIFETIME)).unwrap();
    }
    for _ in 0..BUSY / share {
        small().spawn(spin).unwrap();
    }
    thread::spawn(|| {
        thread::sleep(LIFETIME);
        std::process::exit(1);
    });
    println!("ready");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn machine() -> Arc<Topology> {
    let online: CpuSet = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().parse().unwrap();
    let cpu = |id: isobar_model::CpuId| Cpu { id, core: CoreId(id.0), llc: None, node: Some(NodeId(0)) };
    let nodes = vec![Node { id: NodeId(0), memory: None, max_bandwidth: None }];
    Arc::new(Topology::new(Parts { nodes, cpus: online.iter().map(cpu).collect(), ..Parts::default() }).unwrap())
}

fn parse_stat(criterion: &mut Criterion) {
    let line = std::fs::read("/proc/self/stat").unwrap();
    criterion.bench_function("parse one stat line", |bencher| {
        bencher.iter(|| stat::parse(black_box(&line)).map(|(stat, _)| stat.ticks));
    });
}

fn parse_numa_maps(criterion: &mut Criterion) {
    let line = "7f0000000000 default file=/usr/lib/libc.so.6 mapped=388 mapmax=20 N0=300 N1=88 kernelpagesize_kB=4\n";
    let text = line.repeat(1000);
    criterion.bench_function("parse numa_maps of 1000 mappings", |bencher| {
        bencher.iter(|| numa_maps::parse(black_box(text.as_bytes())).unwrap().len());
    });
}

criterion_group!(parsers, parse_stat, parse_numa_maps);
