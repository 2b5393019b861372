//! Translates plans to requests, and reports to outcomes of the [`isobar_model::Machine`]
//! interface. Pure.

use crate::actuators::RestoreReport;
use crate::resctrl::clusters::{Key, Threads};
use crate::resctrl::request::Request;
use isobar_model::{Action, ActionOutcome, Outcome, PageMove, Pages};

/// A report as outcomes, for the caller that counts them.
pub(super) fn outcome(report: &RestoreReport) -> Outcome {
    let by_owner = || left_alone("changed by its owner meanwhile".into());
    let parts = [
        // A thread that was in a group and whose mask was changed counts once.
        ((report.restored + report.inherited).max(report.grouped_tasks), ActionOutcome::Done),
        (report.vanished + report.reused, ActionOutcome::Vanished),
        (report.changed_by_owner, by_owner()),
    ];
    Outcome { actions: parts.into_iter().flat_map(|(count, outcome)| vec![outcome; count]).collect() }
}

/// The end of a page migration, in pages. Beside threads that are put back, `Vanished` and
/// `Refused` would count as threads.
pub(super) fn in_pages(flight: PageMove) -> ActionOutcome {
    let why = match flight.outcome {
        ActionOutcome::Vanished => "its process has ended".to_owned(),
        ActionOutcome::Refused { why, .. } | ActionOutcome::LeftAlone { why } => why,
        other => return other,
    };
    ActionOutcome::Pages { moved: Pages(0), stayed: vec![(why, flight.pages)] }
}

/// Nothing was done, for this reason.
pub(super) const fn left_alone(why: String) -> ActionOutcome {
    ActionOutcome::LeftAlone { why }
}

/// A `set_ways` action with the identities that were observed; `None` for other actions.
pub(super) fn request(action: &Action, known: &Threads) -> Option<Request> {
    let Action::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, threads, .. } = action else { return None };
    Some(Request {
        key: Key::new(*llc, cluster),
        way_mask: *way_mask,
        percent: *memory_bandwidth_percent,
        threads: threads.iter().filter_map(|tid| Some((*tid, *known.get(tid)?))).collect(),
        asked: threads.len(),
    })
}
