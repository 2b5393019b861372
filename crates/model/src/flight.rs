//! Page migrations in parallel with the control loop. A machine takes pages on, copies them while
//! the loop continues, and shows in every sample which pages are under way and which migrations
//! have ended since the sample before. (DINO's migration daemon copies in parallel with its
//! scheduler, too: section 4.2.)
//!
//! Pure: how many pages a machine takes on at a time is computed here, once for all machines. The
//! machines do the copying.

use crate::ids::{NodeId, Pid};
use crate::outcome::ActionOutcome;
use crate::units::{Pages, Seconds};
use serde::{Deserialize, Serialize};

/// Pages that are copied before the next check whether the rest is still wanted. For each process
/// and pair of nodes this number of pages is taken on in any case, so that a full queue starves no
/// process.
///
/// On Linux this is also the number of pages in one system call. The kernel drains the LRU lists of
/// every CPU in each call, and keeps them disabled for the length of the call. Fewer calls cost
/// less; shorter calls stall others less.
pub const BATCH: Pages = Pages(512);

/// Maximum number of pages under way, all processes together, if a machine has no limit of its own:
/// 1 GiB in pages of 4 KiB, two to four seconds of copying. With more, the choice of pages would be
/// outdated when their turn comes.
pub const MOST_UNDER_WAY: Pages = Pages(262_144);

/// Why pages stay that are not taken on: the maximum number of pages is under way. This is no
/// refusal: slots become free as pages arrive.
pub const QUEUE_FULL: &str = "the limit of pages being moved is reached";
/// Why pages stay if a plan, or the end of the run, withdrew their migration.
pub const WITHDRAWN: &str = "withdrawn";

/// A page migration that a machine has taken on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageMove {
    /// Number of the migration on this machine; [`ActionOutcome::Queued`] gives it.
    pub number: u64,
    /// The process.
    pub pid: Pid,
    /// Where the pages were.
    #[serde(rename = "from_node")]
    pub from: NodeId,
    /// Where they go.
    #[serde(rename = "to_node")]
    pub to: NodeId,
    /// Base pages that were taken on.
    pub pages: Pages,
    /// The outcome so far, or in the end: [`ActionOutcome::Pages`], unless no page moved because
    /// the process was gone or the kernel refused.
    pub outcome: ActionOutcome,
    /// Time since it was taken on.
    #[serde(rename = "age_seconds")]
    pub age: Seconds,
    /// The time that finding and copying its pages has cost.
    #[serde(rename = "copying_seconds")]
    pub copying: Seconds,
    /// Whether it is over. This is reported once, in the first sample after its end.
    pub ended: bool,
}

impl PageMove {
    /// Pages that have moved.
    #[must_use]
    pub const fn moved(&self) -> Pages {
        match self.outcome {
            ActionOutcome::Pages { moved, .. } => moved,
            _ => Pages(0),
        }
    }

    /// Pages that are still on their way.
    #[must_use]
    pub fn left(&self) -> Pages {
        let settled = match &self.outcome {
            ActionOutcome::Pages { moved, stayed } => {
                stayed.iter().fold(moved.0, |sum, (_, pages)| sum.saturating_add(pages.0))
            }
            _ => 0,
        };
        Pages(if self.ended { 0 } else { self.pages.0.saturating_sub(settled) })
    }
}

/// How many of the requested pages a machine takes on: what `limit` leaves beside those
/// `under_way`, and in any case a [`BATCH`] of each process and pair of nodes.
#[must_use]
pub const fn taken_on(asked: Pages, limit: Pages, under_way: Pages, on_this_route: Pages) -> Pages {
    let (room, least) = (limit.0.saturating_sub(under_way.0), BATCH.0.saturating_sub(on_this_route.0));
    let most = if room > least { room } else { least };
    Pages(if asked.0 < most { asked.0 } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_the_way(outcome: ActionOutcome, ended: bool) -> PageMove {
        let (from, to, seconds) = (NodeId(0), NodeId(1), Seconds(1.0));
        PageMove { number: 1, pid: Pid(1), from, to, pages: Pages(100), outcome, age: seconds, copying: seconds, ended }
    }

    #[test]
    fn what_is_left_is_neither_moved_nor_stayed_and_nothing_is_after_the_end() {
        let part = || ActionOutcome::Pages { moved: Pages(30), stayed: vec![("busy".into(), Pages(20))] };
        assert_eq!((on_the_way(part(), false).left(), on_the_way(part(), false).moved()), (Pages(50), Pages(30)));
        assert_eq!(on_the_way(part(), true).left(), Pages(0));
        assert_eq!(on_the_way(ActionOutcome::Vanished, true).moved(), Pages(0));
    }

    #[test]
    fn a_full_queue_still_takes_a_batch_of_each_route() {
        let on = |asked, under_way, route| taken_on(Pages(asked), Pages(1000), Pages(under_way), Pages(route)).0;
        assert_eq!((on(400, 0, 0), on(4000, 0, 0), on(4000, 300, 300)), (400, 1000, 700));
        assert_eq!((on(4000, 1000, 0), on(100, 5000, 0)), (512, 100), "full, and nothing of this route");
        assert_eq!((on(4000, 1000, 500), on(4000, 1000, 512), on(4000, 9000, 9000)), (12, 0, 0));
    }

    #[test]
    fn it_survives_the_round_trip_as_json() {
        let stayed = vec![("busy".to_owned(), Pages(20)), ("withdrawn".to_owned(), Pages(1))];
        let outcomes = [
            ActionOutcome::Pages { moved: Pages(79), stayed },
            ActionOutcome::Vanished,
            ActionOutcome::Refused { errno: Some(1), why: "because".into() },
        ];
        for outcome in outcomes {
            let flight = on_the_way(outcome, true);
            let text = serde_json::to_string(&flight).unwrap();
            assert_eq!(serde_json::from_str::<PageMove>(&text).unwrap(), flight, "{text}");
        }
    }
}
