use super::*;
use proptest::prelude::*;
use std::convert::Infallible;

/// A simulated process: pages and where they are. All others are not resident.
struct Fake {
    pages: BTreeMap<u64, i32>,
    left: u64,
}

impl Fake {
    fn on(node: i32, pages: impl IntoIterator<Item = u64>) -> Self {
        Self { pages: pages.into_iter().map(|page| (page, node)).collect(), left: 1 << 20 }
    }
}

impl PageLocator for Fake {
    type Stop = Infallible;

    fn look(&mut self, pages: &[u64]) -> Result<Vec<i32>, Infallible> {
        self.left = self.left.saturating_sub(pages.len() as u64);
        Ok(pages.iter().map(|page| self.pages.get(page).copied().unwrap_or(-libc::ENOENT)).collect())
    }

    fn left(&self) -> u64 {
        self.left
    }
}

fn range(start: u64, end: u64) -> PageRange {
    PageRange { start, end }
}

fn list(found: &BTreeSet<u64>) -> Vec<u64> {
    found.iter().copied().collect()
}

#[test]
fn neighbours_are_counted_among_resident_pages() {
    // Only even pages are resident. K = 4 around 100: 96, 98 precede, 100, 102 follow.
    let mut process = Fake::on(0, (0..200).step_by(2));
    let near = |process: &mut Fake, wanted| near(process, &[100].into(), &[range(0, 200)], NodeId(0), wanted);
    assert_eq!(list(&near(&mut process, 4).unwrap()), [96, 98, 100, 102]);
    // Pages on another node are neighbours, but stay.
    process.pages.insert(98, 1);
    assert_eq!(list(&near(&mut process, 4).unwrap()), [96, 100, 102]);
    // A sampled page that is not resident any more selects nothing.
    process.pages.remove(&100);
    assert!(near(&mut process, 4).unwrap().is_empty());
}

#[test]
fn samples_share_the_pages() {
    let mut process = Fake::on(0, 0..1000);
    let found = near(&mut process, &[100, 500].into(), &[range(0, 1000)], NodeId(0), 8).unwrap();
    assert_eq!(list(&found), [98, 99, 100, 101, 498, 499, 500, 501]);
    let many = near(&mut process, &(0..50).collect(), &[range(0, 1000)], NodeId(0), 8).unwrap();
    assert_eq!(list(&many), (0..8).collect::<Vec<_>>(), "no more than wanted, with more samples than pages");
}

#[test]
fn of_accessed_ranges_the_hottest_goes_first_and_nothing_else_goes() {
    let mut process = Fake::on(0, (0..10).chain(20..25).chain(40..60));
    process.pages.insert(21, 1);
    let order = [range(20, 25), range(2, 6), range(100, 200)];
    let mut chosen = |wanted| list(&in_order(&mut process, &order, NodeId(0), wanted).unwrap());
    // 21 is on another node; nothing is at 100.
    assert_eq!(chosen(2), [20, 22]);
    assert_eq!(chosen(6), [2, 3, 20, 22, 23, 24]);
    assert_eq!(chosen(100), [2, 3, 4, 5, 20, 22, 23, 24]);
    process.left = 3;
    assert_eq!(list(&in_order(&mut process, &order, NodeId(0), 100).unwrap()), [20, 22], "three looked at");
}

#[test]
fn anonymous_mappings_come_first_then_large_ones() {
    let mapping = |start, end, anonymous| Mapping { pages: range(start, end), anonymous };
    let mappings = [mapping(0, 90, false), mapping(100, 110, true), mapping(200, 220, true), mapping(300, 301, true)];
    let counts = BTreeMap::from([(0, 80), (100, 9), (200, 3)]);
    let starts = |order: Vec<PageRange>| order.into_iter().map(|range| range.start).collect::<Vec<_>>();
    assert_eq!(starts(by_size(&mappings, Some(&counts))), [100, 200, 0]);
    assert_eq!(starts(by_size(&mappings, None)), [200, 100, 300, 0]);
}

#[test]
fn the_walk_goes_on_where_it_ended_and_starts_over() {
    let mut process = Fake::on(0, (0..10).chain(20..25));
    let order = [range(20, 25), range(0, 10)];
    let mut cursor = Cursor::default();
    let mut next = |wanted| list(&cursor.walk(&mut process, &order, NodeId(0), wanted).unwrap());
    assert_eq!(next(3), [20, 21, 22]);
    assert_eq!(next(4), [0, 1, 23, 24]);
    assert_eq!(next(6), [2, 3, 4, 5, 6, 7]);
    assert_eq!(next(4), [8, 9, 20, 21], "the next round");
    assert_eq!(next(100).len(), 15, "a call returns no page twice");
}

#[test]
fn the_walk_stops_at_its_scan_limit_and_goes_on_later() {
    let mut process = Fake::on(0, [9_000]);
    let mut cursor = Cursor::default();
    let order = [range(0, 10_000)];
    process.left = 5_000;
    assert!(cursor.walk(&mut process, &order, NodeId(0), 1).unwrap().is_empty());
    process.left = 5_000;
    assert_eq!(list(&cursor.walk(&mut process, &order, NodeId(0), 1).unwrap()), [9_000]);
}

proptest! {
    /// The walks cover all pages, whether the pages stay on the node or move away as they are
    /// found.
    #[test]
    fn successive_walks_cover_everything(resident in prop::collection::btree_set(0u64..300, 1..120),
                                         wanted in 1u64..40, moves in any::<bool>()) {
        let order = [range(150, 300), range(0, 70), range(70, 150)];
        let mut process = Fake::on(0, resident.iter().copied());
        let mut cursor = Cursor::default();
        let mut seen = BTreeSet::new();
        for _ in 0..=resident.len() as u64 / wanted {
            let found = cursor.walk(&mut process, &order, NodeId(0), wanted).unwrap();
            prop_assert!(found.len() as u64 <= wanted);
            process.pages.extend(found.iter().map(|page| (*page, i32::from(moves))));
            seen.extend(found);
        }
        prop_assert_eq!(seen, resident);
    }
}
