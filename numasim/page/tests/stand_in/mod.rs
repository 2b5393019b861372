//! A replacement for numasim's plugin in tests of programs that read the page. It is a page in a
//! file, to which a thread publishes what CPUs have counted, every millisecond for at most half a
//! minute; and it applies every request.

// Each test file uses a part.
#![allow(dead_code, clippy::unwrap_used)]

use numasim_page::{CpuFigures, Header, Host, LlcFigures, Mapping, Place, Snapshot, ThreadFigures, layout};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Instructions per second of every CPU, busy or idle: the plugin does not know what runs there.
pub const RATE: u64 = 1_000_000_000;
/// Number of ways of its one LLC.
pub const WAYS: u32 = 8;

/// More CPUs than any of our machines has, on one LLC and one node.
fn header() -> Header {
    Header {
        classes: 3,
        clock_khz: 100_000,
        window_ns: 100_000,
        line_bytes: 64,
        delays: true,
        llcs: vec![LlcFigures { ways: WAYS, bytes: 1 << 20 }],
        nodes: vec![1 << 30],
        cpus: vec![Place::default(); layout::MAX_CPUS],
    }
}

/// The counters after some time: every CPU is busy all the time, with one miss per 100
/// instructions.
fn counted(since: Duration) -> Snapshot {
    let ns = u64::try_from(since.as_nanos()).unwrap();
    let instructions = ns.saturating_mul(RATE / 1_000_000_000);
    let cpu = CpuFigures {
        instructions,
        cycles: 2 * instructions,
        llc_references: instructions / 10,
        llc_misses: instructions / 100,
        bytes_read: instructions / 100 * 64,
        busy_ps: ns * 1000,
        ..CpuFigures::default()
    };
    Snapshot { time_ns: ns, modelling: true, cpus: vec![cpu; layout::MAX_CPUS], ..Snapshot::default() }
}

/// See the head of the file.
pub struct Plugin {
    pub path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Plugin {
    /// Starts it without threads.
    pub fn start(folder: &Path) -> Self {
        Self::with_threads(folder, &[])
    }

    /// Starts it with these threads, which do nothing.
    pub fn with_threads(folder: &Path, tids: &[u64]) -> Self {
        let path = folder.join("page");
        let mut host = Host::initialise(Mapping::create(&path).unwrap(), header()).unwrap();
        host.publish(&counted(Duration::ZERO));
        let thread = |tid: &u64| ThreadFigures { tid: *tid, ..ThreadFigures::default() };
        host.publish_threads(&tids.iter().map(thread).collect::<Vec<_>>());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let since = Instant::now();
            while !stopped.load(Ordering::Relaxed) && since.elapsed() < Duration::from_secs(30) {
                host.publish(&counted(since.elapsed()));
                host.take_wishes().iter().for_each(|wishes| host.applied(wishes.generation));
                sleep(Duration::from_millis(1));
            }
        });
        Self { path, stop, thread: Some(thread) }
    }

    /// Ends it; the page stays.
    pub fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap());
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        self.end();
    }
}
