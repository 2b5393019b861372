//! Counters of CPUs, as the page has them. They are handed over raw: which thread ran where is in
//! the sample, and [`isobar_model::Observation::between`] shares an interval out. A page that
//! stands still measures nothing. A page that cannot be read leaves two intervals unmeasured: the
//! one that the reading would have ended, and the one that it would have begun.

use crate::page::Page;
use isobar_linux::sensors::{Running, ThreadCounters};
use isobar_model::{Counters, CpuReading, CpuTotals, Sensor, Tid};
use numasim_page::{CpuFigures, PageError, Snapshot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What every run says about these counters.
pub const REMARK: &str = "counters of the numasim test machine, attributed to threads by CPU time";

/// The counters of a page.
#[derive(Debug)]
pub struct PageCounters {
    page: Arc<Page>,
    /// The last reading; `None` where the page could not be read.
    reading: Option<CpuReading>,
    /// The number of the last reading that there was.
    number: Option<u64>,
    /// Why nothing was measured since.
    trouble: Option<String>,
}

impl PageCounters {
    /// Nothing is read yet.
    #[must_use]
    pub const fn new(page: Arc<Page>) -> Self {
        Self { page, reading: None, number: None, trouble: None }
    }

    fn snapshot(&self) -> Result<(CpuReading, u64), PageError> {
        self.page.check()?;
        let number = self.page.sequence();
        let Snapshot { cpus, time_ns, .. } = self.page.snapshot()?;
        Ok((CpuReading { number, cpus: cpus.iter().map(totals).collect() }, time_ns))
    }
}

impl ThreadCounters for PageCounters {
    fn read(&mut self, _: &[Running]) {
        let now = self.snapshot();
        self.trouble = match &now {
            Err(error) => Some(format!("numasim: {error}; nothing is counted meanwhile")),
            Ok((reading, time_ns)) => (self.number == Some(reading.number)).then(|| still(reading, *time_ns)),
        };
        self.reading = now.ok().map(|(reading, _)| reading);
        self.number = self.reading.as_ref().map(|reading| reading.number).or(self.number);
    }

    fn of(&self, _: Tid) -> Counters {
        Counters::default()
    }

    fn by_cpu(&self) -> Option<CpuReading> {
        self.reading.clone()
    }

    fn missing(&self) -> BTreeMap<Sensor, String> {
        BTreeMap::new()
    }

    fn remarks(&self) -> Vec<String> {
        [REMARK.to_owned()].into_iter().chain(self.trouble.clone()).collect()
    }
}

/// Guest time goes on only while the plugin publishes, so a page that stands still is stale
/// whatever it shows.
fn still(reading: &CpuReading, time_ns: u64) -> String {
    format!(
        "numasim: the page stands still since guest time {} us (sequence {}), so nothing was counted since \
         the last sample: the plugin has ended or has stopped publishing, or every CPU slept",
        time_ns / 1000,
        reading.number
    )
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
