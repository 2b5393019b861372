use super::*;
use crate::profile::Structure;
use crate::trace::Header;
use crate::usage::{Page, Usage};
use proptest::prelude::*;

const PAGE: u64 = 4096;

fn region(start: u64, pages: u64, kind: RegionKind) -> Region {
    Region { start: start * PAGE, end: (start + pages) * PAGE, kind }
}

fn file(path: &str, offset: u64) -> RegionKind {
    RegionKind::File { path: path.to_owned(), offset: offset * PAGE }
}

fn anonymous() -> RegionKind {
    RegionKind::Anonymous { order: 0 }
}

fn named(name: &str) -> RegionKind {
    RegionKind::Named { name: name.to_owned(), line: None }
}

/// A profile of these pages, which all belong to one structure.
fn profile(pages: &[u64], page_bytes: u64) -> PageProfile {
    let mut usage = Usage::new(1, page_bytes).unwrap();
    pages.iter().for_each(|number| usage.push(Page { number: *number, first: 0 }, &[1]).unwrap());
    let header = Header { engine: "test".into(), sampled: None, page_bytes, slice_ns: 1, command: Vec::new() };
    PageProfile {
        header,
        usage,
        structures: vec![Structure { name: "all".into(), line: None, region: None }],
        structure_of: vec![0; pages.len()],
        threads: vec!["T0".into()],
        linux: None,
        end: None,
    }
}

/// Where each page of the traced run is in the live one.
fn found(pages: &[u64], traced: &[Region], live: &[Region]) -> Vec<Option<u64>> {
    pages.iter().map(|page| Finder::new(traced, live, PAGE).find(page * PAGE).map(|address| address / PAGE)).collect()
}

#[test]
fn every_kind_is_found_by_what_it_belongs_to() {
    let traced = [
        region(10, 2, file("/bin/a", 0)),
        region(14, 2, file("/bin/a", 3)),
        region(16, 4, anonymous()), // .bss
        region(30, 8, RegionKind::Heap),
        region(50, 6, anonymous()),
        region(70, 8, RegionKind::Stack(1)),
        region(90, 8, RegionKind::Stack(0)),
    ];
    let live = [
        region(110, 2, file("/bin/a", 0)),
        region(114, 2, file("/bin/a", 3)),
        region(116, 4, anonymous()),
        region(140, 6, RegionKind::Heap),
        region(250, 6, anonymous()),
        region(300, 10, RegionKind::Stack(1)),
        region(400, 4, RegionKind::Stack(0)),
    ];
    // The last page of the heap does not exist yet; only 4 pages of the stack of T0 are mapped.
    let pages = [10, 15, 16, 19, 30, 37, 51, 77, 97, 93, 60];
    let places = [110, 115, 116, 119, 140, 0, 251, 309, 403, 0, 0].map(|page| Some(page).filter(|page| *page > 0));
    assert_eq!(found(&pages, &traced, &live), places);
}

#[test]
fn a_variable_behind_a_file_is_found_by_the_image_and_one_in_a_mapping_by_that() {
    // `table` begins within page 16, after all mappings of the file; `big` lies in a mapping.
    let table = Region { start: 16 * PAGE + 64, end: 18 * PAGE, kind: named("table") };
    let traced = [region(10, 6, file("/bin/a", 0)), table, region(50, 6, anonymous()), region(51, 4, named("big"))];
    let live = [region(110, 6, file("/bin/a", 0)), region(116, 9, anonymous()), region(250, 6, anonymous())];
    assert_eq!(found(&[16, 17, 51, 55], &traced, &live), [Some(116), Some(117), Some(251), Some(255)]);
}

#[test]
fn variables_are_found_though_others_without_a_name_lie_between() {
    let traced = [region(10, 6, file("/bin/a", 0)), region(40, 2, named("grid")), region(60, 9, RegionKind::Heap)];
    let live = [region(110, 6, file("/bin/a", 0)), region(116, 40, anonymous()), region(170, 9, RegionKind::Heap)];
    assert_eq!(found(&[16, 41, 43, 60, 69], &traced, &live), [Some(116), Some(141), Some(143), Some(170), None]);
}

#[test]
fn a_profile_without_regions_is_taken_at_its_addresses() {
    assert_eq!(found(&[10, 13, 14], &[], &[region(10, 4, anonymous())]), [Some(10), Some(13), None]);
}

#[test]
fn files_go_by_offset_where_the_image_differs_and_by_name_where_the_folder_does() {
    let traced = [region(10, 2, file("/build/lib.so", 0)), region(20, 2, file("/build/lib.so", 4))];
    // The file has moved to another folder, and its parts are further apart.
    let live = [region(110, 2, file("/usr/lib.so", 0)), region(150, 2, file("/usr/lib.so", 4))];
    assert_eq!(found(&[10, 21], &traced, &live), [Some(110), Some(151)]);
    let twice = [region(110, 2, file("/x/lib.so", 0)), region(150, 2, file("/y/lib.so", 4))];
    assert_eq!(found(&[10, 21], &traced, &twice), [None, None], "two files of that name");
}

#[test]
fn a_mapping_that_happens_to_follow_a_file_is_found_by_its_size() {
    let traced = [region(10, 2, file("/lib.so", 0)), region(12, 30, anonymous())];
    let live = [region(50, 30, anonymous()), region(110, 2, file("/lib.so", 0))];
    assert_eq!(found(&[11, 12, 41], &traced, &live), [Some(111), Some(50), Some(79)]);
}

#[test]
fn later_regions_cover_earlier_ones() {
    let traced = [region(50, 8, anonymous()), region(52, 2, file("/x", 0))];
    let live = [region(150, 8, anonymous()), region(200, 2, file("/x", 0))];
    assert_eq!(found(&[51, 52, 54], &traced, &live), [Some(151), Some(200), Some(154)]);
}

#[test]
fn large_traced_pages_are_many_live_ones_and_the_lost_are_counted() {
    let traced = [region(512, 1024, anonymous())];
    let live = [region(2048, 1024, anonymous())];
    let placement = Placement::observed(vec![3, 1, 2]);
    let done = transfer(&profile(&[1, 2, 9], 512 * PAGE), &traced, &placement, &live, PAGE);
    assert_eq!(done.wanted.len(), 1024);
    let node = |page: u64| done.wanted.iter().find(|wanted| wanted.page == page).map(|wanted| wanted.node);
    assert_eq!((node(2048), node(2559), node(2560), node(3071)), (Some(3), Some(3), Some(1), Some(1)));
    assert_eq!((done.lost.values().sum::<u64>(), done.found()), (1, [(0, 1024)].into()));
}

fn spaces() -> impl Strategy<Value = Vec<Region>> {
    prop::collection::vec((0u64..300, 1u64..40, 0u8..5), 0..12).prop_map(|made| {
        let kinds = |kind: u8| match kind {
            0 => RegionKind::Heap,
            1 => file("/a", 0),
            2 => named("n"),
            3 => RegionKind::Stack(0),
            _ => anonymous(),
        };
        made.into_iter().map(|(start, pages, kind)| region(start, pages, kinds(kind))).collect()
    })
}

proptest! {
    #[test]
    fn whatever_is_found_is_mapped_and_no_page_is_wanted_twice(traced in spaces(), live in spaces()) {
        let pages: Vec<u64> = (0..350).collect();
        let placement = Placement::observed(vec![1; pages.len()]);
        let done = transfer(&profile(&pages, PAGE), &traced, &placement, &live, PAGE);
        let mapped = |page: u64| live.iter().any(|region| region.start <= page * PAGE && page * PAGE < region.end);
        prop_assert!(done.wanted.iter().all(|wanted| mapped(wanted.page)));
        prop_assert!(done.wanted.is_sorted_by(|one, next| one.page < next.page));
    }

    /// The regions have gaps between them, do not overlap, and have different sizes.
    #[test]
    fn a_run_is_found_in_itself(kinds in prop::collection::vec(0u8..2, 1..10), by in 0u64..1000) {
        let mut at = 10;
        let mut space = Vec::new();
        for (size, kind) in (1..).zip(&kinds) {
            let kind = if *kind == 0 { file(&format!("/{size}"), 0) } else { anonymous() };
            space.push(region(at, size, kind));
            at += size + 3;
        }
        let moved: Vec<Region> = space.iter().map(|region| {
            Region { start: region.start + by * PAGE, end: region.end + by * PAGE, ..region.clone() }
        }).collect();
        for region in &space {
            for page in region.start / PAGE..region.end / PAGE {
                prop_assert_eq!(found(&[page], &space, &moved), [Some(page + by)]);
            }
        }
    }
}
