//! Passes the page's counters on raw: counters of threads if the plugin knows which thread runs,
//! else of CPUs. In the latter case the sample says which thread ran where, and
//! [`isobar_model::Observation::between`] divides the counts of an interval among threads. If the
//! page stands still, the interval is not measured; if threads are counted, neither is the interval
//! after it. A page that cannot be read leaves two intervals unmeasured: the interval that the
//! reading would have ended, and the one that it would have begun.

use crate::page::Page;
use isobar_linux::sensors::{Running, ThreadCounters};
use isobar_model::{Count, Counters, CpuReading, CpuTotals, Sensor, Tid};
use numasim_page::{CpuFigures, PageError, Snapshot, ThreadFigures};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What every run says about these counters if threads are counted.
pub const REMARK: &str = "counters of the numasim test machine, by thread";
/// The same if only CPUs are counted.
pub const BY_CPU: &str = "counters of the numasim test machine, attributed to threads by CPU time";

/// The counters of a page.
#[derive(Debug)]
pub struct PageCounters {
    page: Arc<Page>,
    /// The last reading; `None` if the page could not be read.
    reading: Option<Reading>,
    /// The number of the last reading that succeeded.
    number: Option<u64>,
    /// Why nothing has been measured since.
    trouble: Option<String>,
}

/// What is counted: threads or CPUs.
#[derive(Debug)]
enum Reading {
    Threads(BTreeMap<u64, Counters>),
    Cpus(CpuReading),
}

impl PageCounters {
    /// Reads nothing yet.
    #[must_use]
    pub const fn new(page: Arc<Page>) -> Self {
        Self { page, reading: None, number: None, trouble: None }
    }

    /// The counters, and the page's sequence number.
    fn reading(&self) -> Result<(Reading, u64), PageError> {
        self.page.check()?;
        let number = self.page.sequence();
        let reading = if self.page.counts_threads() {
            let threads = self.page.threads()?;
            Reading::Threads(threads.iter().map(|thread| (thread.tid, counted(thread))).collect())
        } else {
            let Snapshot { cpus, .. } = self.page.snapshot()?;
            Reading::Cpus(CpuReading { number, cpus: cpus.iter().map(totals).collect() })
        };
        Ok((reading, number))
    }
}

impl ThreadCounters for PageCounters {
    fn read(&mut self, _: &[Running]) {
        let now = self.reading();
        self.trouble = match &now {
            Err(error) => Some(format!("numasim: {error}; nothing is counted until then")),
            Ok((_, number)) => (self.number == Some(*number)).then(|| still(*number, self.page.time_ns())),
        };
        let (reading, number) = now.ok().unzip();
        self.reading = reading;
        self.number = number.or(self.number);
    }

    /// A thread that is not on the page has not run.
    fn of(&self, tid: Tid) -> Counters {
        match &self.reading {
            Some(Reading::Threads(threads)) if self.trouble.is_none() => {
                threads.get(&u64::from(tid.0)).copied().unwrap_or(NOTHING)
            }
            _ => Counters::default(),
        }
    }

    fn by_cpu(&self) -> Option<CpuReading> {
        match &self.reading {
            Some(Reading::Cpus(reading)) => Some(reading.clone()),
            _ => None,
        }
    }

    fn missing(&self) -> BTreeMap<Sensor, String> {
        BTreeMap::new()
    }

    fn remarks(&self) -> Vec<String> {
        let remark = if self.page.counts_threads() { REMARK } else { BY_CPU };
        [remark.to_owned()].into_iter().chain(self.trouble.clone()).collect()
    }
}

/// Guest time goes on only while the plugin publishes, so a page that stands still is out of date,
/// whatever it shows.
fn still(number: u64, time_ns: u64) -> String {
    format!(
        "numasim: the page has not changed since guest time {} us (sequence {}), so nothing was counted since the last \
         sample: the plugin has ended or has stopped publishing, or every CPU slept",
        time_ns / 1000,
        number
    )
}

/// The counts of a thread that has not run.
const NOTHING: Counters = {
    let zero = Some(Count::whole(0, 0));
    Counters {
        instructions: zero,
        cycles: zero,
        llc_references: zero,
        llc_misses: zero,
        cache_transfers: zero,
        bytes: zero,
    }
};

fn counted(thread: &ThreadFigures) -> Counters {
    let whole = |count| Some(Count::whole(count, 0));
    Counters {
        instructions: whole(thread.user_instructions()),
        cycles: whole(thread.cycles),
        llc_references: whole(thread.llc_references),
        llc_misses: whole(thread.llc_misses),
        cache_transfers: whole(thread.cache_transfers()),
        bytes: whole(thread.bytes_read.saturating_add(thread.bytes_written)),
    }
}

fn totals(cpu: &CpuFigures) -> CpuTotals {
    CpuTotals {
        busy_ns: cpu.busy_ps / 1000,
        instructions: cpu.instructions,
        cycles: cpu.cycles,
        llc_references: cpu.llc_references,
        llc_misses: cpu.llc_misses,
        bytes: cpu.bytes_read.saturating_add(cpu.bytes_written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page;
    use numasim_page::{Header, Host, LlcFigures, Mapping, Place};

    fn header() -> Header {
        Header {
            classes: 1,
            llcs: vec![LlcFigures { ways: 8, bytes: 1 << 20 }],
            nodes: vec![1_000_000_000],
            cpus: vec![Place::default()],
            ..Header::default()
        }
    }

    /// A thread with this number of instructions, and a hundredth as many misses. A fifth of these
    /// another cache answers, the others fetch 64 bytes.
    fn thread(tid: u64, instructions: u64) -> ThreadFigures {
        let (misses, fetched) = (instructions / 100, instructions / 125);
        ThreadFigures { tid, instructions, llc_misses: misses, bytes_read: 64 * fetched, ..ThreadFigures::default() }
    }

    #[test]
    fn threads_have_their_own_counts_where_the_page_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page");
        let mut host = Host::initialise(Mapping::create(&path).unwrap(), header()).unwrap();
        let seen = || Snapshot { modelling: true, cpus: vec![CpuFigures::default()], ..Snapshot::default() };
        host.publish(&seen());
        let mut counters = PageCounters::new(page::open(Some(&path), "counters").unwrap());
        counters.read(&[]);
        assert_eq!((counters.of(Tid(7)), counters.by_cpu().is_some()), (Counters::default(), true));
        assert_eq!(counters.remarks(), [BY_CPU]);

        host.publish(&seen());
        host.publish_threads(&[thread(7, 5_000)]);
        counters.read(&[]);
        let seven = counters.of(Tid(7));
        let values = [seven.instructions, seven.llc_misses, seven.cache_transfers, seven.bytes];
        assert_eq!((values.map(|count| count.unwrap().value), counters.by_cpu()), ([5_000, 50, 10, 2_560], None));
        assert_eq!(counters.of(Tid(8)), NOTHING, "it has not run");
        assert_eq!(counters.remarks(), [REMARK]);

        counters.read(&[]);
        assert_eq!(counters.of(Tid(7)), Counters::default(), "the page has not changed");
        assert!(counters.remarks()[1].contains("has not changed"));
    }
}
