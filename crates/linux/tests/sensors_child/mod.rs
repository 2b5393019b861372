//! A process to observe: the test's own executable, started again. Isobar leaves itself out of what
//! it observes, so tests need another process. The process obeys one command per line, answers each
//! with one line, and ends with its standard input or after half a minute, whatever happens.

// Each test file uses a part of this module.
#![allow(dead_code)]

use crate::live::helper::{Helper, orders};
use isobar_model::topology::{Cpu, Node, Parts, Topology};
use isobar_model::{CoreId, CpuSet, NodeId, Pid, ProcessSample, Sample, ThreadSample, Tid};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io::BufRead;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

const LIFETIME: Duration = Duration::from_secs(30);
const AREA: usize = 16 << 20;

/// The child as the test sees it.
pub struct Observed(Helper);

impl Observed {
    /// Starts it. The test file must have an ignored test `child_role` that calls [`obey`].
    pub fn start() -> Self {
        let mut helper = Helper::start("child_role", &[]);
        helper.hear("CHILD ready");
        Self(helper)
    }

    /// Sends a command and returns the rest of its answer.
    pub fn send(&mut self, command: &str) -> String {
        self.0.send(command);
        self.0.hear("CHILD did")
    }

    /// Starts threads of a kind (`sleep`, `spin`, `fault`) and returns their ids.
    pub fn threads(&mut self, kind: &str, count: usize) -> Vec<Tid> {
        self.send(&format!("{kind} {count}")).split_whitespace().map(|tid| Tid(tid.parse().unwrap())).collect()
    }

    pub fn pid(&self) -> Pid {
        self.0.process.pid()
    }
}

/// Runs the child if this process is one; otherwise returns at once.
pub fn obey() {
    let Some([]) = orders() else { return };
    thread::spawn(|| {
        thread::sleep(LIFETIME);
        std::process::exit(1);
    });
    println!("CHILD ready");
    let mut stops = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut words = line.split_whitespace();
        let (kind, count) = (words.next().unwrap(), words.next().map_or(0, |count| count.parse().unwrap()));
        let answer = if kind == "end" { end(&mut stops) } else { spawn(kind, count, &mut stops) };
        println!("CHILD did {answer}");
    }
    std::process::exit(0);
}

type Stop = (Sender<()>, thread::JoinHandle<()>);

/// Ends all threads and waits until they are gone.
fn end(stops: &mut Vec<Stop>) -> String {
    for (stop, handle) in stops.drain(..) {
        drop(stop);
        handle.join().unwrap();
    }
    String::new()
}

fn spawn(kind: &str, count: usize, stops: &mut Vec<Stop>) -> String {
    let (send, given) = channel();
    for _ in 0..count {
        let (stop, stopped) = channel::<()>();
        let (kind, send) = (kind.to_owned(), send.clone());
        let body = move || {
            let _area = (kind == "touch").then(touched);
            send.send(own_tid().to_string()).unwrap();
            let over = || stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected);
            while !over() {
                match kind.as_str() {
                    "spin" => spin(),
                    "fault" => drop(touched()),
                    "pinned" => pin_to_first(),
                    _ => thread::sleep(Duration::from_millis(5)),
                }
            }
        };
        let handle = thread::Builder::new().stack_size(128 << 10).spawn(body).unwrap();
        stops.push((stop, handle));
    }
    given.into_iter().take(count).collect::<Vec<_>>().join(" ")
}

fn own_tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Fresh memory from the kernel (an allocator would keep it), each page written once: one fault per
/// page, or one per huge page.
fn touched() -> Area {
    let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory in use.
    let start = unsafe { mmap_anonymous(std::ptr::null_mut(), AREA, rights, flags) }.unwrap();
    for offset in (0..AREA).step_by(4096) {
        // SAFETY: within the mapping, to which nothing else refers.
        let page = unsafe { start.cast::<u8>().add(offset) };
        // SAFETY: as above.
        unsafe { page.write_volatile(1) };
    }
    Area(start)
}

struct Area(*mut c_void);

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: mapped with this length by `touched`, and no longer used.
        unsafe { munmap(self.0, AREA) }.unwrap();
    }
}

fn spin() {
    let until = Instant::now() + Duration::from_millis(5);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn pin_to_first() {
    let mine = rustix::thread::sched_getaffinity(None).unwrap();
    let first = (0..1024).find(|cpu| mine.is_set(*cpu)).unwrap();
    let mut one = rustix::thread::CpuSet::new();
    one.set(first);
    rustix::thread::sched_setaffinity(None, &one).unwrap();
    thread::sleep(Duration::from_millis(5));
}

/// This machine as one node: the sensors need its online CPUs, and tests must not depend on its
/// topology.
pub fn machine() -> Arc<Topology> {
    let online: CpuSet = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().parse().unwrap();
    let cpu = |id: isobar_model::CpuId| Cpu { id, core: CoreId(id.0), llc: None, node: Some(NodeId(0)) };
    let nodes = vec![Node { id: NodeId(0), memory: None, max_bandwidth: None }];
    Arc::new(Topology::new(Parts { nodes, cpus: online.iter().map(cpu).collect(), ..Parts::default() }).unwrap())
}

/// The child in a sample.
pub fn process(sample: &Sample, pid: Pid) -> &ProcessSample {
    sample.processes.iter().find(|process| process.pid == pid).expect("the child is running")
}

/// A thread of a process in a sample.
pub fn thread_of(process: &ProcessSample, tid: Tid) -> Option<&ThreadSample> {
    process.threads.iter().find(|thread| thread.tid == tid)
}
