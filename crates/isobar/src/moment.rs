//! Converts an epoch of the loop to a moment, the form in which views take it.

use isobar_model::ActionId;
use isobar_runtime::Epoch;
use isobar_view::Moment;

/// Passes an epoch of the loop to `see` as a moment.
pub fn seen_as_moment<R>(epoch: &Epoch<'_>, see: impl FnOnce(&Moment<'_>) -> R) -> R {
    let undone: Vec<ActionId> = epoch.undone.iter().map(|one| one.id).collect();
    see(&Moment {
        number: epoch.number,
        capabilities: &epoch.sample.capabilities,
        seen: epoch.seen,
        managed: epoch.managed,
        plan: epoch.plan,
        outcome: epoch.outcome,
        first_id: epoch.first_id,
        undone: &undone,
    })
}
