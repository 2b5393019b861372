//! Remembers which pages the last migrations moved, so that a migration can be taken back. The
//! memory is limited: adjacent pages are one range, and if there are too many ranges the oldest
//! migrations are forgotten.

use super::request::Request;
use crate::actuators::pages::around::{PageRange, count, join, ranges};
use isobar_model::{PageSelection, Pages};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of ranges that are kept, for all migrations together: 4 MiB.
const MOST: usize = 262_144;

/// Pages by the migration that moved them.
#[derive(Debug, Default)]
pub struct Moved {
    by_number: BTreeMap<u64, (Arc<Request>, Vec<PageRange>)>,
    ranges: usize,
}

impl Moved {
    /// Adds a batch of a migration that has arrived.
    pub fn add(&mut self, number: u64, request: &Arc<Request>, mut pages: Vec<u64>) {
        if pages.is_empty() {
            return;
        }
        pages.sort_unstable();
        let (_, all) = self.by_number.entry(number).or_insert_with(|| (Arc::clone(request), Vec::new()));
        self.ranges -= all.len();
        all.extend(ranges(pages.into_iter()));
        all.sort_unstable_by_key(|range| range.start);
        *all = join(std::mem::take(all));
        self.ranges += all.len();
        while self.ranges > MOST
            && let Some((_, (_, oldest))) = self.by_number.pop_first()
        {
            self.ranges -= oldest.len();
        }
    }

    /// The request that takes a migration back; `None` if no page that it moved is known.
    pub fn way_back(&self, number: u64) -> Option<Request> {
        let (request, accessed) = self.by_number.get(&number)?;
        let Request { pid, pid_start, from, to, .. } = **request;
        Some(Request {
            pid,
            pid_start,
            from: to,
            to: from,
            pages: Pages(count(accessed)),
            select: PageSelection::Accessed,
            addresses: Vec::new(),
            accessed: accessed.clone(),
            fill_up: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::{NodeId, Pid};

    fn request() -> Arc<Request> {
        let (from, to) = (NodeId(0), NodeId(1));
        let (select, addresses, accessed) = (PageSelection::ResidentSet, Vec::new(), Vec::new());
        let pages = Pages(100);
        Arc::new(Request { pid: Pid(7), pid_start: 70, from, to, pages, select, addresses, accessed, fill_up: true })
    }

    #[test]
    fn the_way_back_has_the_pages_that_moved_and_no_others() {
        let mut moved = Moved::default();
        moved.add(3, &request(), vec![12, 10, 11]);
        moved.add(3, &request(), vec![20, 13]);
        moved.add(4, &request(), Vec::new());
        let back = moved.way_back(3).unwrap();
        assert_eq!((back.from, back.to, back.pages, back.pid_start), (NodeId(1), NodeId(0), Pages(5), 70));
        assert_eq!(back.accessed, [PageRange { start: 10, end: 14 }, PageRange { start: 20, end: 21 }]);
        assert!(moved.way_back(4).is_none() && moved.way_back(1).is_none());
    }

    #[test]
    fn too_many_scattered_pages_are_forgotten_the_oldest_first() {
        let mut moved = Moved::default();
        let scattered = |first: u64| (0..200_000).map(|page| first + 2 * page).collect();
        moved.add(1, &request(), scattered(0));
        moved.add(2, &request(), scattered(1));
        assert!(moved.way_back(1).is_none() && moved.way_back(2).is_some());
        assert_eq!(moved.ranges, 200_000);
    }
}
