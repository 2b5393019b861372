//! Counts what became of pages, by a reason in words.

use crate::kernel::move_pages::NOT_TRIED;
use isobar_model::{ActionOutcome, Pages};
use std::collections::BTreeMap;

/// Pages moved and pages that stayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    moved: u64,
    stayed: BTreeMap<&'static str, u64>,
}

/// The page budget of the epoch is used up.
pub const BUDGET: &str = "page budget used up";
/// The target has no memory to spare.
pub const NO_MEMORY: &str = "no free memory on the target node";
/// The selection holds fewer pages on the node than were requested.
pub const FEWER: &str = "not found on the node";
/// Their owner chose where they are, by a memory policy.
pub const OWNED: &str = "kept there by their owner's memory policy";
/// The process ended while its pages were moved.
pub const ENDED: &str = "the process ended";
/// The kernel refused to go on.
pub const REFUSED: &str = "refused";

impl Tally {
    /// Counts pages that moved.
    pub fn moved(&mut self, pages: u64) {
        self.moved += pages;
    }

    /// Counts pages that stayed for one reason.
    pub fn stayed(&mut self, why: &'static str, pages: u64) {
        if pages > 0 {
            *self.stayed.entry(why).or_default() += pages;
        }
    }

    /// Counts the requested pages that are not counted yet as staying for one reason.
    pub fn rest_stayed(&mut self, why: &'static str, asked: Pages) {
        let counted = self.counted();
        self.stayed(why, asked.0.saturating_sub(counted));
    }

    /// Number of pages that moved.
    pub const fn pages_moved(&self) -> Pages {
        Pages(self.moved)
    }

    /// Number of pages counted so far, moved or not.
    pub fn counted(&self) -> u64 {
        self.stayed.values().fold(self.moved, |sum, pages| sum.saturating_add(*pages))
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: Self) {
        self.moved += other.moved;
        other.stayed.into_iter().for_each(|(why, pages)| self.stayed(why, pages));
    }

    /// What finally became of the pages requested. A failure is the outcome if nothing moved;
    /// otherwise the rest stayed because of it.
    pub fn close(mut self, asked: Pages, failed: Option<ActionOutcome>) -> ActionOutcome {
        match failed {
            Some(outcome) if self.moved == 0 => return outcome,
            Some(ActionOutcome::Vanished) => self.rest_stayed(ENDED, asked),
            Some(_) => self.rest_stayed(REFUSED, asked),
            None => {}
        }
        self.outcome()
    }

    /// The tally as the outcome of an action.
    pub fn outcome(self) -> ActionOutcome {
        let stayed = self.stayed.into_iter().map(|(why, pages)| (why.to_owned(), Pages(pages))).collect();
        ActionOutcome::Pages { moved: Pages(self.moved), stayed }
    }
}

/// What the status of a page that did not move means (`move_pages(2)`, "Page states in the status
/// array").
pub const fn reason(status: i32) -> &'static str {
    if status == NOT_TRIED {
        return "not tried";
    }
    match status.saturating_neg() {
        libc::ENOENT => "no longer resident",
        libc::EFAULT => "zero page or unmapped",
        libc::EBUSY => "busy",
        libc::ENOMEM => NO_MEMORY,
        libc::EACCES => "shared with other processes",
        libc::EPERM => "not permitted",
        libc::EINVAL | libc::EIO => "cannot be written back or moved",
        _ => "still on the node",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_words() {
        let words = [
            (-libc::ENOENT, "no longer resident"),
            (-libc::EFAULT, "zero page or unmapped"),
            (-libc::EBUSY, "busy"),
            (-libc::ENOMEM, "no free memory on the target node"),
            (-libc::EACCES, "shared with other processes"),
            (-libc::EPERM, "not permitted"),
            (0, "still on the node"),
            (-9999, "still on the node"),
            (NOT_TRIED, "not tried"),
        ];
        for (status, expected) in words {
            assert_eq!(reason(status), expected, "{status}");
        }
    }

    #[test]
    fn every_page_is_accounted_for_by_reason_and_zero_is_left_out() {
        let mut tally = Tally::default();
        tally.moved(3);
        for (why, pages) in [(NO_MEMORY, 5), ("busy", 2), (BUDGET, 0), ("busy", 1)] {
            tally.stayed(why, pages);
        }
        tally.rest_stayed(ENDED, Pages(13));
        let stayed = [("busy", 3), (NO_MEMORY, 5), (ENDED, 2)].map(|(why, pages)| (why.to_owned(), Pages(pages)));
        assert_eq!(tally.outcome(), ActionOutcome::Pages { moved: Pages(3), stayed: stayed.into() });
    }
}
