//! Where threads ran, as a sequence of stays.

use crate::data::Lane;
use isobar_model::{Observation, Pid, Thread, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of threads shown: those with the most CPU time.
const THREADS: usize = 200;
/// Maximum number of stays kept per thread. A thread that moves every second is a bar of colours.
const STAYS: usize = 400;

/// Threads by where they ran.
#[derive(Debug, Default)]
pub struct Lanes(BTreeMap<(Pid, Tid), Stays>);

#[derive(Debug, Default)]
struct Stays {
    cpu_seconds: f64,
    stays: Vec<(f64, Option<u32>)>,
    left_out: u64,
}

impl Lanes {
    /// Adds an epoch: threads that ran, and threads that have ended.
    pub fn take(&mut self, seen: &Observation) {
        let begin = seen.time.0 - seen.interval.0;
        let mut there = BTreeSet::new();
        for (process, thread) in seen.threads() {
            there.insert((process.pid, thread.tid));
            let busy = thread.cpu_time.map_or(0.0, |time| time.0);
            if busy > 0.0 || self.0.contains_key(&(process.pid, thread.tid)) {
                let stays = self.0.entry((process.pid, thread.tid)).or_default();
                stays.cpu_seconds += busy;
                stays.to(begin, place(thread, seen));
            }
        }
        self.0.iter_mut().filter(|(id, _)| !there.contains(id)).for_each(|(_, stays)| stays.to(begin, None));
    }

    /// The busiest threads of the programs that have a position, and how many other threads there
    /// were.
    pub fn busiest(self, position: impl Fn(Pid) -> Option<usize>) -> (Vec<Lane>, usize) {
        let mut all: Vec<((Pid, Tid), Stays)> = self.0.into_iter().collect();
        all.sort_by(|a, b| b.1.cpu_seconds.total_cmp(&a.1.cpu_seconds).then(a.0.cmp(&b.0)));
        let count = all.len();
        let lane =
            |((pid, tid), stays): ((Pid, Tid), Stays)| Some(Lane { program: position(pid)?, tid, stays: stays.stays });
        let lanes: Vec<Lane> = all.into_iter().filter_map(lane).take(THREADS).collect();
        let left_out = count - lanes.len();
        (lanes, left_out)
    }
}

impl Stays {
    fn to(&mut self, seconds: f64, place: Option<u32>) {
        if self.stays.last().map_or(place.is_none(), |(_, last)| *last == place) {
            return;
        }
        if self.stays.len() >= STAYS {
            self.left_out += 1;
            return;
        }
        self.stays.push((crate::series::brief(seconds.max(0.0)), place));
    }
}

/// The LLC of a thread, or its node if no LLC is known.
fn place(thread: &Thread, seen: &Observation) -> Option<u32> {
    let cpu = seen.machine.cpu(thread.cpu?)?;
    cpu.llc.map(|llc| llc.0).or(cpu.node.map(|node| node.0))
}
