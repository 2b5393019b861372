//! Measures the cost of acting: binding threads with the state file written first, and finding and
//! moving DINO's K = 4096 pages.
//!
//! The benchmark starts processes of its own, which are bounded in time. On a machine of one node,
//! pages "move" to where they are: that includes the kernel's look at each page, but not the copy.

// A benchmark: a failed expectation ends it.
#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{BatchSize, Criterion};
use isobar_linux::actuators::pages::{Migration, PageMover, PageRange, around};
use isobar_linux::actuators::{Actuators, ThreadMove};
use isobar_linux::kernel::{affinity, identity};
use isobar_model::{CpuId, NodeId, PageSelection, Pages, Pid, Tid};
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const THREADS: usize = 200;
const K: u64 = 4096;
const FILLER: &str = "ISOBAR_BENCH_FILLER";

fn main() {
    if std::env::var_os(FILLER).is_some() {
        return fill();
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    neighbourhood(&mut criterion);
    threads(&mut criterion);
    pages(&mut criterion);
    criterion.final_summary();
}

/// The program in its second role, as a child: fills 64 MiB and waits.
fn fill() {
    let memory = vec![1u8; 64 << 20];
    println!("{}", memory.as_ptr().addr());
    std::thread::sleep(Duration::from_secs(120));
    black_box(memory);
}

struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn neighbourhood(criterion: &mut Criterion) {
    let ranges: Vec<_> = (0..10_000u64).map(|i| PageRange { start: i * 10, end: i * 10 + 3 }).collect();
    criterion.bench_function("4096 pages around a sample, in mappings of 3 pages", |bench| {
        bench.iter(|| around(black_box(50_001), K, &ranges));
    });
}

fn threads(criterion: &mut Criterion) {
    let sleeper = || Command::new("sleep").arg("120").spawn().unwrap();
    let processes: Vec<_> = (0..THREADS).map(|_| Kept(sleeper())).collect();
    let folder = tempfile::tempdir().unwrap();
    let (mut actuators, _) = Actuators::open(&folder.path().join("state.json")).unwrap();
    let cpus: Vec<_> = affinity::get(Tid(std::process::id())).unwrap().iter().collect();
    let mut turn = 0;
    criterion.bench_function("200 threads bound, state file first", |bench| {
        let requests = || {
            turn += 1;
            processes.iter().map(|process| request(process, cpus[turn % cpus.len()])).collect::<Vec<_>>()
        };
        let apply = |requests: Vec<ThreadMove>| {
            let intents = actuators.intend(&requests).unwrap();
            intents.into_iter().map(|intent| actuators.carry_out(intent)).collect::<Vec<_>>()
        };
        bench.iter_batched(requests, apply, BatchSize::PerIteration);
    });
    actuators.restore().unwrap();
}

fn request(process: &Kept, cpu: CpuId) -> ThreadMove {
    let (pid, tid) = (Pid(process.0.id()), Tid(process.0.id()));
    let start = identity::process(pid).unwrap().start;
    ThreadMove { pid, pid_start: start, tid, tid_start: start, cpu, cpus: None, pinned: false }
}

fn pages(criterion: &mut Criterion) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut filler = Kept(command.env(FILLER, "1").stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(filler.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let middle = [line.trim().parse::<u64>().unwrap() + (32 << 20)];
    let pid = Pid(filler.0.id());
    let pid_start = identity::process(pid).unwrap().start;
    let (from, to, pages) = (NodeId(0), NodeId(0), Pages(K));
    for (name, select) in
        [("around a sample", PageSelection::AroundSamples), ("by the walk", PageSelection::ResidentSet)]
    {
        let request =
            Migration { pid, pid_start, from, to, pages, select, addresses: &middle, accessed: &[], fill_up: false };
        let mut mover = PageMover::default();
        criterion.bench_function(&format!("4096 pages found {name} and moved in place"), |bench| {
            bench.iter(|| mover.migrate(&request, Pages(u64::MAX)));
        });
    }
}
