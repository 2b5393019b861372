//! Fits the pages that are to move into the memory that is free. No process moves more than it
//! accessed, and no node receives more than is free. If free memory does not suffice for all, it is
//! shared out evenly, whichever nodes ask.

use super::free::FreePages;
use super::share::fair;
use crate::kit::flight;
use isobar_model::{Action, NodeId, Observation, PageSelection, Pages, Plan, Process};
use std::collections::BTreeMap;

/// A request to move pages of a process.
#[derive(Clone, Debug)]
pub struct PageRequest<'a> {
    /// The process.
    pub process: &'a Process,
    /// Where they are.
    pub from: NodeId,
    /// Where they go.
    pub to: NodeId,
    /// Maximum number of base pages.
    pub pages: u64,
    /// Why, in words.
    pub reason: String,
}

/// The number of pages of a process on a node that may move: those accessed in the epoch or, if
/// these were not measured, the resident ones. Pages that are already about to leave are not
/// counted.
#[must_use]
pub fn candidates(seen: &Observation, process: &Process, node: NodeId) -> u64 {
    let on = |pages: &isobar_model::NodeMap<Pages>| pages.get(node).map_or(0, |pages| pages.0);
    let (resident, accessed) = (process.pages.as_ref().map(on), process.accessed_pages.as_ref().map(on));
    let there = match (resident, accessed) {
        (Some(resident), Some(accessed)) => resident.min(accessed),
        (Some(pages), None) | (None, Some(pages)) => pages,
        (None, None) => 0,
    };
    there.saturating_sub(flight::leaving(seen, process.pid, node))
}

/// Adds wishes to a plan as far as there is free memory, and notes what does not fit. There is at
/// most one wish per process. Wishes are granted in their order.
pub fn grant(wishes: Vec<PageRequest<'_>>, free: &mut FreePages, plan: &mut Plan) {
    note_unmeasured(&wishes, plan);
    let mut granted = vec![0; wishes.len()];
    let mut by_target: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for (index, wish) in wishes.iter().enumerate() {
        by_target.entry(wish.to).or_default().push(index);
    }
    for (target, indices) in by_target {
        let wanted: Vec<u64> = indices.iter().map(|&index| wishes[index].pages).collect();
        let parts = fair(&wanted, free.on(target));
        let (all, fit) = (wanted.iter().fold(0, |sum: u64, pages| sum.saturating_add(*pages)), parts.iter().sum());
        if fit < all {
            plan.notes
                .push(format!("node {target} has free memory for {fit} of the {all} pages that would move to it"));
        }
        free.take(target, fit);
        indices.iter().zip(parts).for_each(|(&index, part)| granted[index] = part);
    }
    let action = |(PageRequest { process, from, to, reason, .. }, pages)| Action::MigratePages {
        pid: process.pid,
        from,
        to,
        pages: Pages(pages),
        select: if process.accessed_pages.is_some() { PageSelection::Accessed } else { PageSelection::ResidentSet },
        for_thread: None,
        reason,
    };
    plan.actions.extend(wishes.into_iter().zip(granted).filter(|(_, pages)| *pages > 0).map(action));
}

fn note_unmeasured(wishes: &[PageRequest<'_>], plan: &mut Plan) {
    let unmeasured = wishes.iter().filter(|wish| wish.process.accessed_pages.is_none()).count();
    if unmeasured > 0 {
        plan.notes.push(format!(
            "accessed pages were not measured for {unmeasured} of the {} processes whose pages move: any of their \
             resident pages may be moved",
            wishes.len()
        ));
    }
}
