//! Measures the read bandwidth from the CPUs of a node to the memory of the same or another node: a
//! thread on every CPU streams through its own memory there, which is larger than the caches. Time
//! and memory are limited.

use super::memory::Buffer;
use super::prober::{cpus_for, with_memory};
use super::reason::NotMeasured;
use crate::kernel::affinity;
use isobar_model::{Bytes, CpuId, CpuSet, NodeId, NodeMap, NodeMatrix, Tid, Topology, num};
use rustix::thread::gettid;
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long a pair is measured for.
const TIME: Duration = Duration::from_millis(200);

/// Streams are this many times as long as the last-level caches of their CPUs are large, in total.
const CACHES: u64 = 4;

/// The size of caches that sysfs does not describe.
const UNKNOWN_CACHE: u64 = 32 << 20;

/// Maximum number of bytes taken at a time.
const MOST: u64 = 2 << 30;

/// Number of lines read between two looks at the clock.
const CHUNK: usize = 4096;

/// The distance in bytes of two words that are in different lines.
const LINE: usize = 64;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Bandwidths {
    /// Bytes per second, by node of the CPUs and node of the memory.
    pub read: NodeMatrix<f64>,
    /// Why pairs were not measured.
    pub problems: Vec<NotMeasured>,
}

/// Measures one pair after another, with all CPUs of the node that this thread may use. At most a
/// quarter of a node's free memory is taken. Ends early if `stop` returns true; pairs not measured
/// by then have no value.
#[must_use]
pub fn measure(machine: &Topology, free: &NodeMap<Bytes>, stop: &dyn Fn() -> bool) -> Bandwidths {
    let own = Tid(gettid().as_raw_nonzero().get().unsigned_abs());
    let usable = affinity::get(own).unwrap_or_else(|_| machine.online().clone());
    let nodes: Vec<NodeId> = machine.nodes().iter().map(|node| node.id).collect();
    let mut problems = Vec::new();
    let mut rows = Vec::new();
    for from in &nodes {
        let cpus = cpus_for(machine, *from, &usable);
        let mut cell = |to: &NodeId| {
            if stop() {
                return None;
            }
            let found = with_memory(machine, *to).and_then(|()| {
                let bytes = length(machine, *from, free.get(*to).copied()).ok_or(NotMeasured::Full(*to))?;
                streams(&cpus.clone()?, *to, bytes)
            });
            found.map_err(|why| problems.push(why)).ok()
        };
        rows.push(nodes.iter().map(&mut cell).collect());
    }
    problems.sort_unstable();
    problems.dedup();
    // A topology's nodes ascend, and every pair has a cell.
    Bandwidths { read: NodeMatrix::from_cells(nodes, rows).unwrap_or_default(), problems }
}

/// Bytes that all streams from a node take together; `None` if there is too little memory for
/// streams that exceed the caches.
fn length(machine: &Topology, from: NodeId, free: Option<Bytes>) -> Option<u64> {
    let caches = machine.llcs_of_node(from).into_iter().filter_map(|llc| machine.llc(llc)?.size);
    let caches = Some(caches.map(|size| size.0).sum()).filter(|sum| *sum > 0).unwrap_or(UNKNOWN_CACHE);
    let bytes = (caches * CACHES).min(MOST).min(free.map_or(u64::MAX, |free| free.0 / 4));
    (bytes >= caches * 2).then_some(bytes)
}

/// Bytes per second of all CPUs together.
fn streams(cpus: &CpuSet, to: NodeId, bytes: u64) -> Result<f64, NotMeasured> {
    let count = cpus.iter().count().max(1);
    let each = usize::try_from(bytes).unwrap_or(usize::MAX) / count;
    let gate = Gate::default();
    thread::scope(|scope| {
        let (ready, all) = mpsc::channel::<()>();
        let (mut threads, mut failed) = (Vec::new(), None);
        for cpu in cpus.iter() {
            let (gate, ready) = (&gate, ready.clone());
            let body = move || {
                let buffer = prepare(cpu, to, each);
                drop(ready);
                if gate.passes() { buffer.map(|buffer| stream(&buffer)) } else { Ok(0.0) }
            };
            match thread::Builder::new().spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    failed = Some(NotMeasured::refused("cannot start a thread on every CPU")(error));
                    break;
                }
            }
        }
        drop(ready);
        // Nothing is ever sent: the wait ends when the last thread is ready, or has panicked.
        let _ = all.recv();
        gate.open(failed.is_none());
        let ended = threads.into_iter().filter_map(|thread| thread.join().ok());
        let sum = ended.sum::<Result<f64, NotMeasured>>();
        failed.map_or(sum, Err)
    })
}

/// Holds threads until all are ready, or until it is known that some never will be.
#[derive(Default)]
struct Gate {
    open: Mutex<Option<bool>>,
    opened: Condvar,
}

impl Gate {
    fn open(&self, go: bool) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(go);
        self.opened.notify_all();
    }

    /// Waits, and returns whether to go on.
    fn passes(&self) -> bool {
        let closed = |open: &mut Option<bool>| open.is_none();
        let guard = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.opened.wait_while(guard, closed).unwrap_or_else(PoisonError::into_inner).unwrap_or(false)
    }
}

fn prepare(cpu: CpuId, to: NodeId, bytes: usize) -> Result<Buffer, NotMeasured> {
    let own = Tid(gettid().as_raw_nonzero().get().unsigned_abs());
    affinity::set(own, &[cpu].into_iter().collect()).map_err(NotMeasured::refused("cannot stay on one CPU"))?;
    let buffer = Buffer::new(to, bytes, true)?;
    buffer.settle()?;
    Ok(buffer)
}

/// Bytes per second of one thread, which reads a word of every line, from the first to the last and
/// round again.
fn stream(buffer: &Buffer) -> f64 {
    let lines = (buffer.pages() * buffer.page_size() / LINE).max(1);
    let (began, mut line, mut read) = (Instant::now(), 0, 0_usize);
    while began.elapsed() < TIME {
        let end = (line + CHUNK).min(lines);
        let sum = (line..end).fold(0_usize, |sum, line| {
            // SAFETY: within the mapping, which lives as long as `buffer`.
            sum.wrapping_add(unsafe { buffer.word(0, line * LINE).read() })
        });
        std::hint::black_box(sum);
        read += end - line;
        line = if end == lines { 0 } else { end };
    }
    num::float_len(read * LINE) / began.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;

    #[test]
    fn streams_outgrow_caches_and_leave_memory_to_others() {
        let machine = crate::topology::read(&crate::tree::Tree::live()).unwrap();
        let node = machine.nodes()[0].id;
        let plenty = length(&machine, node, None).unwrap();
        assert!(plenty <= MOST, "{plenty}");
        assert_eq!(length(&machine, node, Some(Bytes(64))), None);
        // A cache of 8 MiB: 4 * 8 MiB are wanted, and a quarter of 80 MiB allows 20; the minimum is
        // 2 * 8.
        let small = synthetic("node:1 llc:1 core:1").unwrap();
        assert_eq!(length(&small, NodeId(0), None), Some(32 << 20));
        assert_eq!(length(&small, NodeId(0), Some(Bytes(80 << 20))), Some(20 << 20));
        assert_eq!(length(&small, NodeId(0), Some(Bytes(60 << 20))), None);
    }
}
