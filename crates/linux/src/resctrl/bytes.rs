//! Bytes to and from memory by thread, from what there is: the monitor group of its process, shared out among the threads by their LLC
//! misses (equally where those are not counted), else LLC misses times the length of a line. Pure.
//!
//! The counts that come out are cumulative whatever they are made of, so a change of source is no jump. An interval that was not
//! measured adds to the time enabled and not to the time running, which is how [`Count`] says so.
//!
//! Misses times a line leave out write-backs and prefetches, so they tell less than passes the memory controller.

use super::monitors::Traffic;
use isobar_model::{Count, Pid, ProcessSample, Sample, Seconds, ThreadSample, Tid, num};
use std::collections::BTreeMap;

/// Bytes of a cache line: x86, and nearly every server of another kind.
const LINE: u64 = 64;

/// What was last read of a thread.
#[derive(Clone, Copy, Debug)]
struct Meter {
    start: u64,
    misses: Option<Count>,
    /// `None` as long as nothing tells of its bytes.
    total: Option<Count>,
}

/// Keeps the counts of all threads.
#[derive(Debug, Default)]
pub struct Bytes {
    threads: BTreeMap<Tid, Meter>,
    time: Option<Seconds>,
    /// Whether the last sample had bytes from monitor groups, and from misses.
    sources: (bool, bool),
}

impl Bytes {
    /// Fills in the bytes of a sample.
    pub fn fill(&mut self, sample: &mut Sample, traffic: &BTreeMap<Pid, Traffic>) {
        let span = self.time.replace(sample.time).map_or(0.0, |before| (sample.time.0 - before.0).max(0.0));
        let span = num::round(span * 1e9);
        let before = std::mem::take(&mut self.threads);
        self.sources = (false, false);
        for process in &mut sample.processes {
            let traffic = traffic.get(&process.pid);
            let shares = traffic.map(|traffic| shares(process, traffic, &before)).unwrap_or_default();
            for thread in &mut process.threads {
                let old = before.get(&thread.tid).filter(|meter| meter.start == thread.start);
                let monitored = traffic.is_some_and(|traffic| traffic.threads.contains(&thread.tid));
                // Who counts bytes itself knows better.
                if let Some(bytes) = thread.counters.bytes {
                    let misses = thread.counters.llc_misses;
                    self.threads.insert(thread.tid, Meter { start: thread.start, misses, total: Some(bytes) });
                    continue;
                }
                let told = monitored || thread.counters.llc_misses.is_some();
                self.sources.0 |= monitored;
                self.sources.1 |= told && !monitored;
                let bytes = if monitored { shares.get(&thread.tid).copied() } else { by_misses(thread, old) };
                let total = old.and_then(|meter| meter.total).or_else(|| told.then(Count::default));
                let total = total.map(|total| if old.is_some() { advanced(total, bytes, span) } else { total });
                thread.counters.bytes = total;
                let misses = thread.counters.llc_misses;
                self.threads.insert(thread.tid, Meter { start: thread.start, misses, total });
            }
        }
    }

    /// Where the bytes of the last sample come from, in one line; `None` where there are none.
    #[must_use]
    pub fn remark(&self) -> Option<&'static str> {
        match self.sources {
            (false, false) => None,
            (true, false) => Some("bandwidth is read from resctrl monitor groups (mbm_total_bytes)"),
            (false, true) => Some("bandwidth is LLC misses x 64 bytes: without write-backs and prefetches"),
            (true, true) => Some(
                "bandwidth is read from resctrl monitor groups (mbm_total_bytes), and is LLC misses x 64 bytes for who is in none",
            ),
        }
    }
}

/// What each monitored thread of a process moved; nobody where that was not measured.
fn shares(process: &ProcessSample, traffic: &Traffic, before: &BTreeMap<Tid, Meter>) -> BTreeMap<Tid, u64> {
    let Some(bytes) = traffic.bytes else { return BTreeMap::new() };
    let threads: Vec<_> = process.threads.iter().filter(|thread| traffic.threads.contains(&thread.tid)).collect();
    let misses =
        |thread: &&ThreadSample| missed(thread, before.get(&thread.tid).filter(|meter| meter.start == thread.start));
    let weights: Option<Vec<u64>> = threads.iter().map(misses).collect();
    let weights = weights.filter(|weights| weights.iter().any(|weight| *weight > 0));
    let weights = weights.unwrap_or_else(|| vec![1; threads.len()]);
    let ids = threads.iter().map(|thread| thread.tid);
    ids.zip(split(bytes, &weights)).collect()
}

/// Shares of a whole by weights, without loss: what is over goes to the first.
fn split(whole: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return Vec::new();
    }
    let share = |weight: &u64| u64::try_from(u128::from(whole) * u128::from(*weight) / sum).unwrap_or(whole);
    let mut shares: Vec<u64> = weights.iter().map(share).collect();
    let over = whole - shares.iter().sum::<u64>();
    if let Some(first) = shares.first_mut() {
        *first += over;
    }
    shares
}

fn by_misses(thread: &ThreadSample, old: Option<&Meter>) -> Option<u64> {
    missed(thread, old).map(|misses| misses.saturating_mul(LINE))
}

fn missed(thread: &ThreadSample, old: Option<&Meter>) -> Option<u64> {
    thread.counters.llc_misses?.since(old?.misses?)
}

/// A count after an interval.
const fn advanced(total: Count, bytes: Option<u64>, span: u64) -> Count {
    let enabled = total.enabled.saturating_add(span);
    match bytes {
        Some(bytes) => {
            Count { value: total.value.saturating_add(bytes), enabled, running: total.running.saturating_add(span) }
        }
        None => Count { enabled, ..total },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;
    use isobar_model::{Counters, NodeMap, Observation};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn thread(tid: u32, misses: Option<u64>) -> ThreadSample {
        let misses = misses.map(|misses| Count::whole(misses, misses));
        let counters = Counters { llc_misses: misses, ..Counters::default() };
        ThreadSample {
            tid: Tid(tid),
            start: 1,
            cpu: None,
            allowed: None,
            pinned: false,
            bound: None,
            cpu_time: None,
            counters,
        }
    }

    fn sample(time: f64, misses: &[Option<u64>]) -> Sample {
        let threads = (1..).zip(misses).map(|(tid, misses)| thread(tid, *misses)).collect();
        let process =
            ProcessSample { pid: Pid(1), start: 1, name: "a".into(), pages: None, accessed_pages: None, threads };
        Sample {
            time: Seconds(time),
            topology: Arc::new(synthetic("node:1 core:2").unwrap()),
            free: NodeMap::default(),
            latency: None,
            latency_cycles: None,
            processes: vec![process],
            capabilities: Arc::default(),
        }
    }

    /// Misses of each thread, and the monitor's reading where there is one.
    type Step = (Vec<Option<u64>>, Option<Option<u64>>);

    /// Bytes a second of each thread between consecutive samples.
    fn rates(steps: Vec<Step>) -> Vec<Vec<Option<f64>>> {
        let mut bytes = Bytes::default();
        let mut time = 0.0;
        let mut next = |(misses, traffic): Step| {
            time += 1.0;
            let mut sample = sample(time, &misses);
            let threads = sample.processes[0].threads.iter().map(|thread| thread.tid).collect();
            let traffic = traffic.map(|bytes| (Pid(1), Traffic { bytes, threads }));
            bytes.fill(&mut sample, &traffic.into_iter().collect());
            sample
        };
        let samples: Vec<Sample> = steps.into_iter().map(&mut next).collect();
        let between = |pair: &[Sample]| {
            let seen = Observation::between(&pair[0], &pair[1]);
            seen.threads().map(|(_, thread)| thread.bandwidth.map(|bandwidth| bandwidth.0)).collect()
        };
        samples.windows(2).map(between).collect()
    }

    #[test]
    fn misses_times_a_line_then_the_monitor_and_no_jump_between() {
        let (two, monitored) = (|a, b| vec![Some(a), Some(b)], |bytes| Some(Some(bytes)));
        let seen = rates(vec![
            (two(0, 100), None),
            (two(10, 130), None),
            // From here on the monitor: 9,000 bytes for 20 and 40 more misses.
            (two(30, 170), monitored(9000)),
            (two(30, 170), monitored(5)),
            (two(40, 180), Some(None)),
            (two(50, 180), monitored(640)),
            (two(60, 181), None),
        ]);
        assert_eq!(seen[0], [Some(640.0), Some(1920.0)]);
        assert_eq!(seen[1], [Some(3000.0), Some(6000.0)]);
        assert_eq!(seen[2], [Some(3.0), Some(2.0)], "equally, and nothing is lost");
        assert_eq!(seen[3], [None, None], "not measured once");
        assert_eq!(seen[4], [Some(640.0), Some(0.0)]);
        assert_eq!(seen[5], [Some(640.0), Some(64.0)]);
    }

    #[test]
    fn without_any_source_there_are_no_bytes() {
        assert_eq!(rates(vec![(vec![None], None), (vec![None], None)]), [[None]]);
        let seen =
            rates(vec![(vec![None, None], None), (vec![None, None], Some(Some(8))), (vec![None, None], Some(Some(8)))]);
        assert_eq!(seen[1], [Some(4.0), Some(4.0)], "without misses, equally");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_in_sharing(whole in any::<u64>(), weights in prop::collection::vec(0u64..1 << 50, 1..20)) {
            let shares = split(whole, &weights);
            if weights.iter().any(|weight| *weight > 0) {
                prop_assert_eq!(shares.iter().sum::<u64>(), whole);
            }
        }
    }
}
