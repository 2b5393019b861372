//! The migrations of one epoch (section VI): every node with a gap moves pages of the processes
//! that run on it. CAPM consists of this alone; CAMM combines it with CAMA.
//!
//! ```text
//! for every node with a gap (algorithm 3):
//!     for every process that spends more than half of its CPU time there:
//!         rate = gap in cycles * 60                (dynamic; or the static rate)
//!         move min(rate, accessed pages on gap.from) from gap.from to gap.to
//! fit the moves of all nodes into the free memory, evenly by process
//! ```

use super::config::{Migration, Rate, Reserve};
use super::free::FreePages;
use super::gap::Gap;
use super::latency::{NOT_MEASURED, Unit, views};
use super::moves::{PageRequest, candidates, grant};
use crate::kit::refused::Refused;
use crate::kit::running::Running;
use crate::kit::words::OneDecimal;
use isobar_model::{NodeId, Observation, Plan, num};
use std::collections::BTreeMap;

/// Adds the migrations of an epoch to its plan, except for processes whose pages may not be moved
/// for now.
pub fn migrate(seen: &Observation, settings: &Migration, reserve: &Reserve, refused: &Refused, plan: &mut Plan) {
    let views = views(seen, Unit::Cycles(settings.ghz));
    if views.is_empty() {
        plan.notes.push(NOT_MEASURED.to_owned());
        return;
    }
    let gaps: BTreeMap<NodeId, Gap> =
        views.iter().filter_map(|view| Some((view.node, Gap::of(view, settings.threshold_percent)?))).collect();
    let wish = |process| {
        let node = Running::of(process, &seen.machine)?.main?;
        let gap = gaps.get(&node)?;
        let pages = rate(gap, settings).min(candidates(seen, process, gap.from));
        let reason = reason(gap, node, settings);
        (pages > 0).then_some(PageRequest { process, from: gap.from, to: gap.to, pages, reason })
    };
    let wishes = refused.with_movable_pages(seen).filter_map(wish).collect();
    grant(wishes, &mut FreePages::new(seen, reserve), plan);
}

/// The migration rate: pages of a process in this epoch.
fn rate(gap: &Gap, settings: &Migration) -> u64 {
    match settings.rate {
        Rate::Dynamic => num::round(gap.gap * settings.pages_per_cycle),
        Rate::Static => settings.pages_per_epoch,
    }
}

fn reason(gap: &Gap, node: NodeId, settings: &Migration) -> String {
    let Gap { from, to, congested, other, gap: cycles } = gap;
    let back = if *to == node { ", so pages come back" } else { "" };
    let rate = match settings.rate {
        Rate::Dynamic => format!("{} pages a cycle", OneDecimal(settings.pages_per_cycle)),
        Rate::Static => format!("{} pages an epoch", settings.pages_per_epoch),
    };
    format!(
        "node {node} waits {} cycles for node {from} and {} for node {to}{back}: {} above the mean, {rate}",
        OneDecimal(*congested),
        OneDecimal(*other),
        OneDecimal(*cycles)
    )
}
