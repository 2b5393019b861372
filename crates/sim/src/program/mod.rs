//! A program's behaviour towards the memory system, as a few parameters (docs/design/simulator.md).
//! They describe solo behaviour only: how other programs slow it down is a result of the model.

mod curve;
mod file;
mod library;
mod measured;

pub use file::ProgramFile;
pub use library::{Library, Suite, shipped, suites, text};

use crate::error::{SimError, within};
use crate::estimate::{End, Estimate};
use crate::machine::{positive, surrounds};
use curve::at_least;
pub use isobar_contention::{Measured, MissCurve, Parametric};
use isobar_model::num;
use serde::Deserialize;

/// A program. Every field is read from TOML under its own name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Instructions of one run, all threads together, in billions.
    pub instructions_billion: f64,
    /// Cycles per instruction without LLC misses.
    pub base_cpi: f64,
    /// LLC misses per 1000 instructions by LLC space: the misses that the program waits for, with
    /// the prefetchers active.
    #[serde(deserialize_with = "curve::read")]
    pub mpki: MissCurve,
    /// Misses in flight at the same time.
    pub mlp: f64,
    /// Lines that prefetchers fetch for each miss, in addition to the line of the miss. The program
    /// does not wait for them.
    #[serde(default)]
    pub prefetch: f64,
    /// Low and high end of `prefetch`, if it is an estimate.
    #[serde(default)]
    pub prefetch_range: Option<[f64; 2]>,
    /// Lines written back for each line read, including prefetched lines.
    pub write_back: f64,
    /// Resident memory, all threads together.
    pub footprint_mib: f64,
    /// The fraction of a run during which the footprint is first touched; 0 = at once.
    #[serde(default)]
    pub touch_share: f64,
    /// The fraction of the pages that is hot.
    #[serde(default = "hot_pages")]
    pub hot_pages: f64,
    /// The fraction of the accesses that goes to the hot pages.
    #[serde(default = "hot_accesses")]
    pub hot_accesses: f64,
    /// Number of threads, unless the workload says otherwise.
    #[serde(default = "one")]
    pub threads: u32,
    /// The fraction of pages and accesses that all threads share.
    #[serde(default)]
    pub shared: f64,
    /// Phases, repeated in order; none = steady.
    #[serde(default)]
    pub phase: Vec<Phase>,
}

const fn hot_pages() -> f64 {
    0.2
}

const fn hot_accesses() -> f64 {
    0.8
}

const fn one() -> u32 {
    1
}

/// A stretch of execution of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its length in instructions of a thread, in billions.
    pub instructions_billion: f64,
    /// Factor on MPKI.
    pub mpki_factor: f64,
}

impl Program {
    /// Resident base pages when all memory is touched; at least one.
    #[must_use]
    pub fn pages(&self) -> u64 {
        num::round(self.footprint_mib * 256.0).max(1)
    }

    /// Lines that pass a controller for each miss: read and written, including prefetched lines.
    #[must_use]
    pub fn lines_per_miss(&self) -> f64 {
        (1.0 + self.prefetch) * (1.0 + self.write_back)
    }

    /// The same program with a kind of estimate set to an end of its range; unchanged if it has no
    /// range.
    #[must_use]
    pub fn assuming(&self, estimate: Estimate, end: End) -> Self {
        let mut assumed = self.clone();
        if estimate == Estimate::Prefetch {
            assumed.prefetch = end.of(self.prefetch_range, self.prefetch);
        }
        assumed
    }

    /// What a user should know about the program's numbers, in words. The numbers are used all the
    /// same.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let rises = self.mpki.rises();
        if rises.is_empty() {
            return Vec::new();
        }
        let ways = rises.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let name = isobar_model::text::one_line(&self.name);
        vec![format!("{name}: measured misses rise at {ways} ways; the model uses the nearest curve that never rises")]
    }

    /// Length of all phases together, in instructions; `None` for a steady program.
    pub(crate) fn cycle(&self) -> Option<f64> {
        (!self.phase.is_empty()).then(|| self.phase.iter().map(|phase| phase.instructions_billion * 1e9).sum())
    }

    /// The factor on MPKI at an instruction of a thread, and the instructions left in that phase.
    pub(crate) fn phase_at(&self, instruction: f64) -> (f64, f64) {
        let Some(cycle) = self.cycle() else { return (1.0, f64::INFINITY) };
        let mut left = instruction % cycle;
        for phase in &self.phase {
            let length = phase.instructions_billion * 1e9;
            // A billionth before the end counts as the end: otherwise rounding would make a phase
            // of zero length.
            if left < length * (1.0 - 1e-9) {
                return (phase.mpki_factor, length - left);
            }
            left = (left - length).max(0.0);
        }
        let first = self.phase[0];
        (first.mpki_factor, first.instructions_billion * 1e9)
    }

    /// LLC lookups per instruction, given the factor on MPKI: with no space in the LLC, every
    /// lookup would miss.
    pub(crate) fn looks(&self, factor: f64) -> f64 {
        factor * self.mpki.misses(0.0)
    }

    pub(crate) fn validate(&self, file: &str) -> Result<(), SimError> {
        let key = |field: &str| format!("{}.{field}", self.name);
        positive(file, &key("instructions_billion"), self.instructions_billion)?;
        positive(file, &key("footprint_mib"), self.footprint_mib)?;
        positive(file, &key("threads"), f64::from(self.threads))?;
        at_least(file, &key("base_cpi"), self.base_cpi, LEAST_CPI)?;
        at_least(file, &key("mlp"), self.mlp, 1.0)?;
        curve::validate(&self.mpki, file, &key("mpki"))?;
        at_least(file, &key("write_back"), self.write_back, 0.0)?;
        at_least(file, &key("prefetch"), self.prefetch, 0.0)?;
        surrounds(file, &key("prefetch_range"), self.prefetch, self.prefetch_range)?;
        self.prefetch_range.iter().flatten().try_for_each(|end| at_least(file, &key("prefetch_range"), *end, 0.0))?;
        let pages = [("touch_share", self.touch_share), ("hot_pages", self.hot_pages), ("shared", self.shared)];
        for (field, share) in pages.into_iter().chain([("hot_accesses", self.hot_accesses)]) {
            within(file, &key(field), share, 0.0..=1.0)?;
        }
        for phase in &self.phase {
            at_least(file, &key("phase.instructions_billion"), phase.instructions_billion, SHORTEST_PHASE)?;
            at_least(file, &key("phase.mpki_factor"), phase.mpki_factor, 0.0)?;
        }
        Ok(())
    }
}

/// A million instructions, in billions: shorter phases are noise, and belong in the mean.
pub(crate) const SHORTEST_PHASE: f64 = 1e-3;
/// Twenty instructions per cycle, more than any CPU executes: with a lower CPI, runs would end
/// faster than they can be simulated.
pub(crate) const LEAST_CPI: f64 = 0.05;
