//! Sees which pages processes accessed recently, by node, and where they are: only such pages are
//! worth moving (CAMM paper, section VI). Which way of seeing accesses is used depends on what the
//! kernel has and permits. `docs/design/accessed-pages.md` says what each way can see and costs,
//! and why they are tried in this order.
//!
//! The sensor is off until it is asked for: unlike other sensors, it changes something in the
//! kernel (never the content or place of a page).

pub mod damon;
mod engine;
mod heat;
mod referenced;
mod smaps;

pub use engine::{Engine, Reading, Watched};
pub use heat::AccessedRange;
pub use smaps::{Mapping, parse as parse_smaps};

use crate::kernel::{move_pages, page_range::PageRange};
use damon::Damon;
use isobar_model::{NodeMap, Pages, Pid};
use referenced::Referenced;
use std::collections::BTreeMap;
use std::path::Path;

/// Which engines may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessedBy {
    /// DAMON if it is free, otherwise referenced bits.
    #[default]
    Any,
    /// DAMON or nothing.
    Damon,
    /// Referenced bits, mapping by mapping.
    Mappings,
}

/// A reading is used for this number of samples, unless a newer one comes.
const KEPT: u64 = 20;

/// Maximum number of pages of a process whose node is asked for in one sample, if the engine knows
/// addresses only. Each of them represents as many pages as it takes to cover all.
const LOCATED: u64 = 16_384;

/// What was last found of a process.
#[derive(Debug)]
struct Known {
    reading: Reading,
    by_node: Option<NodeMap<Pages>>,
    round: u64,
}

/// The sensor.
#[derive(Default)]
pub struct Accessed {
    by: AccessedBy,
    engine: Option<Box<dyn Engine>>,
    /// Why there is no engine, once one was asked for.
    missing: Option<String>,
    /// Why engines that come earlier in the order are not used.
    passed_over: Vec<String>,
    known: BTreeMap<Pid, Known>,
}

impl Accessed {
    /// Creates the sensor, switched off, with the engines to choose from once it is switched on.
    #[must_use]
    pub fn new(by: AccessedBy) -> Self {
        Self { by, ..Self::default() }
    }

    /// Chooses an engine among those that may be used: DAMON, otherwise referenced bits by mapping.
    pub fn switch_on(&mut self) {
        if self.engine.is_some() {
            return;
        }
        self.passed_over.clear();
        if self.by != AccessedBy::Mappings {
            match Damon::open(Path::new(damon::ADMIN)) {
                Ok(damon) => return self.use_engine(Box::new(damon)),
                Err(why) => self.passed_over.push(format!("DAMON is not used: {why}")),
            }
        }
        if self.by == AccessedBy::Damon {
            self.missing = Some(self.passed_over.join("; "));
            return;
        }
        match Referenced::open() {
            Ok(referenced) => self.use_engine(Box::new(referenced)),
            Err(why) => {
                self.passed_over.push(why);
                self.missing = Some(self.passed_over.join("; "));
            }
        }
    }

    /// Sees accesses by this engine from now on.
    pub fn use_engine(&mut self, engine: Box<dyn Engine>) {
        self.missing = None;
        self.engine = Some(engine);
    }

    /// Whether the sensor was switched on and works.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.engine.is_some()
    }

    /// Why nothing is seen, if the sensor was switched on.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        self.missing.clone()
    }

    /// Which engine is used and why, and whether it may not see some processes; a line each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let Some(engine) = &self.engine else { return Vec::new() };
        let why = self.passed_over.iter().map(|why| format!("; {why}")).collect::<String>();
        let denied = (engine.denied() > 0)
            .then(|| "accessed pages of some processes of other users cannot be measured: run as root".to_owned());
        [format!("accessed pages are measured {}{why}", engine.describe())].into_iter().chain(denied).collect()
    }

    /// Stores the engine's new readings. `wanted`: the processes of interest, the busiest first.
    pub fn refresh(&mut self, wanted: &[Watched], round: u64) {
        let Some(engine) = self.engine.as_mut() else { return };
        for (pid, reading) in engine.step(wanted) {
            let by_node = reading.by_node.clone().or_else(|| locate(pid, &reading));
            self.known.insert(pid, Known { reading, by_node, round });
        }
        self.known.retain(|_, known| round.saturating_sub(known.round) <= KEPT);
    }

    /// Accessed pages by node of the process that started at `start`; `None` if nothing is known of
    /// it.
    #[must_use]
    pub fn by_node(&self, pid: Pid, start: u64) -> Option<NodeMap<Pages>> {
        self.of(pid, start)?.by_node.clone()
    }

    /// Where the accessed pages of a process are, those accessed most first.
    #[must_use]
    pub fn hottest_first(&self, pid: Pid, start: u64) -> Option<Vec<PageRange>> {
        Some(heat::hottest_first(&self.of(pid, start)?.reading.stretches))
    }

    fn of(&self, pid: Pid, start: u64) -> Option<&Known> {
        self.known.get(&pid).filter(|known| known.reading.start == start)
    }
}

/// Asks the kernel for the nodes of a sample of the accessed pages.
fn locate(pid: Pid, reading: &Reading) -> Option<NodeMap<Pages>> {
    let (pages, step) = heat::sample(&reading.stretches, LOCATED);
    let status = move_pages::locate(pid, &pages, procfs::page_size()).ok()?;
    Some(heat::by_node(&status, step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::NodeId;

    /// Returns one reading, at the first step.
    struct Once(Option<(Pid, Reading)>);

    impl Engine for Once {
        fn describe(&self) -> &'static str {
            "once"
        }

        fn step(&mut self, _: &[Watched]) -> BTreeMap<Pid, Reading> {
            self.0.take().into_iter().collect()
        }
    }

    #[test]
    fn a_reading_stands_for_a_while_and_for_one_process_only() {
        let stretch = |start, heat| AccessedRange { pages: PageRange { start, end: start + 10 }, heat };
        let by_node = Some([(NodeId(1), Pages(20))].into_iter().collect::<NodeMap<_>>());
        let reading = Reading { start: 7, stretches: vec![stretch(0, 1), stretch(50, 9)], by_node: by_node.clone() };
        let mut accessed = Accessed::default();
        assert!(accessed.remarks().is_empty() && accessed.missing().is_none(), "off: nothing to say");
        accessed.use_engine(Box::new(Once(Some((Pid(3), reading)))));
        for round in 0..=KEPT {
            accessed.refresh(&[], round);
            assert_eq!(accessed.by_node(Pid(3), 7), by_node, "sample {round}");
        }
        let starts = |ranges: Vec<PageRange>| ranges.iter().map(|range| range.start).collect::<Vec<_>>();
        assert_eq!(accessed.hottest_first(Pid(3), 7).map(starts), Some(vec![50, 0]));
        assert_eq!(accessed.by_node(Pid(3), 8), None, "another process of the same number");
        accessed.refresh(&[], KEPT + 1);
        assert_eq!(accessed.by_node(Pid(3), 7), None, "too old");
        assert_eq!(accessed.remarks(), ["accessed pages are measured once"]);
    }
}
