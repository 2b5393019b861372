//! What is left to do without hardware counters. Without them no speed can be predicted, and none
//! checked. If latencies are probed, pages move away from a node that is clearly slower than
//! another, as CAPM moves them, until the gap is gone. Without latencies nothing is done, and a
//! note says so.

use crate::camm::config::{Migration, Reserve};
use crate::camm::migrate::migrate;
use crate::kit::refused::Refused;
use isobar_model::{Observation, Plan};

/// Epochs without any counts after which there are taken to be no counters.
const EPOCHS: u32 = 3;
/// Latency gap, in per cent of the mean, from which on pages move: four times CAPM's, because it
/// cannot be checked whether a move helped.
const GAP: f64 = 20.0;

/// Number of epochs for which nothing has been counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithoutCounters(u32);

impl WithoutCounters {
    /// Records an epoch in which some thread was counted, or none.
    pub fn pass(&mut self, counted: bool) {
        self.0 = if counted { 0 } else { self.0.saturating_add(1) };
    }

    /// Whether there are no counters, as far as can be told.
    #[must_use]
    pub const fn is_so(self) -> bool {
        self.0 >= EPOCHS
    }
}

/// Does what can be done with latencies alone.
pub fn act(seen: &Observation, refused: &Refused, plan: &mut Plan) {
    if seen.latency.is_none() {
        plan.notes.push("neither counters nor latencies are measured: nothing is done".to_owned());
        return;
    }
    plan.notes.push(format!(
        "no counters: pages are moved by probed latency alone, if latencies differ by more than {GAP} %"
    ));
    let migration = Migration { threshold_percent: GAP, ..Migration::default() };
    migrate(seen, &migration, &Reserve::default(), refused, plan);
}
