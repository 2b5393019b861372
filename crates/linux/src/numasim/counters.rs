//! Counters of threads, from sample to sample: what [`super::share`] gives them adds up. An interval in which the page could not be read,
//! or stood still, adds to the time enabled and not to the time running, which is how [`Count`] says "not measured".

use super::Page;
use super::share::{Figures, Ran, share};
use isobar_model::{Count, Counters, Tid};
use numasim_page::{PageError, Snapshot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What every run says of these counters.
pub const REMARK: &str = "counters of the numasim test machine, attributed to threads by CPU time";

/// A thread of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// its id
    pub tid: Tid,
    /// its start time
    pub start: u64,
    /// where it ran
    pub ran: Ran,
}

#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    start: u64,
    total: Figures,
    enabled: u64,
    running: u64,
}

/// The counters of all threads.
#[derive(Debug)]
pub struct PageCounters {
    page: Arc<Page>,
    before: Option<(u64, Snapshot)>,
    threads: BTreeMap<Tid, Meter>,
    trouble: Option<String>,
}

impl PageCounters {
    /// Nothing is read yet.
    #[must_use]
    pub const fn new(page: Arc<Page>) -> Self {
        Self { page, before: None, threads: BTreeMap::new(), trouble: None }
    }

    /// Reads the page, and gives each thread of the sample its share of the interval since the last one.
    pub fn update(&mut self, threads: &[Seen], interval_ns: u64) {
        let shares = self.shares(threads);
        let before = std::mem::take(&mut self.threads);
        for (at, seen) in threads.iter().enumerate() {
            let old = before.get(&seen.tid).filter(|meter| meter.start == seen.start).copied();
            let old = old.unwrap_or(Meter { start: seen.start, ..Meter::default() });
            self.threads.insert(seen.tid, old.advanced(shares.as_ref().and_then(|all| all.get(at)), interval_ns));
        }
    }

    /// The counters of a thread of the last sample.
    #[must_use]
    pub fn read(&self, tid: Tid) -> Counters {
        let Some(Meter { total, enabled, running, .. }) = self.threads.get(&tid).copied() else {
            return Counters::default();
        };
        let count = |value| Some(Count { value, enabled, running });
        Counters {
            instructions: count(total.instructions),
            cycles: count(total.cycles),
            llc_references: count(total.llc_references),
            llc_misses: count(total.llc_misses),
            bytes: count(total.bytes),
        }
    }

    /// What these counters are, and why nothing was measured in the last interval, where that is so.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        [REMARK.to_owned()].into_iter().chain(self.trouble.clone()).collect()
    }

    /// The share of each thread; `None` where the interval was not measured. The first reading has no interval, so nothing is
    /// anybody's.
    fn shares(&mut self, threads: &[Seen]) -> Option<Vec<Figures>> {
        let reading = self.page.check().and_then(|_| {
            let sequence = self.page.progress().sequence;
            Ok((sequence, self.page.snapshot()?))
        });
        let last = self.before.take();
        self.trouble = trouble(last.as_ref(), reading.as_ref());
        let Ok(now) = reading else {
            self.before = last;
            return None;
        };
        let counted = last.map_or_else(Snapshot::default, |(_, before)| now.1.since(&before));
        self.before = Some(now);
        let ran: Vec<Ran> = threads.iter().map(|seen| seen.ran).collect();
        self.trouble.is_none().then(|| share(&counted.cpus, &ran))
    }
}

impl Meter {
    fn advanced(self, share: Option<&Figures>, interval_ns: u64) -> Self {
        let enabled = self.enabled.saturating_add(interval_ns);
        match share {
            Some(share) => {
                let running = self.running.saturating_add(interval_ns);
                Self { total: self.total.plus(share), enabled, running, ..self }
            }
            None => Self { enabled, ..self },
        }
    }
}

/// Why an interval was not measured. Guest time goes on only while the plugin publishes, so one that stands still is stale whatever its
/// figures say.
fn trouble(last: Option<&(u64, Snapshot)>, now: Result<&(u64, Snapshot), &PageError>) -> Option<String> {
    match (last, now) {
        (_, Err(error)) => Some(format!("numasim: {error}; nothing is counted meanwhile")),
        (Some((before, _)), Ok((sequence, snapshot))) if before == sequence => Some(format!(
            "numasim: the page stands still since guest time {} us (sequence {sequence}), so nothing was counted since the last sample: the \
             plugin has ended or has stopped publishing, or every CPU slept",
            snapshot.time_ns / 1000
        )),
        _ => None,
    }
}
