use super::{Pattern, Recipe, Zone};
use proptest::prelude::{Just, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use std::collections::BTreeSet;

fn zone(pages: u32, lines: u32, pattern: Pattern) -> Zone {
    Zone { pages, weight: 1.0, lines, pattern, shared: false }
}

fn recipe(accesses: u64, zones: Vec<Zone>) -> Recipe {
    Recipe { threads: 1, accesses, zones }
}

fn pages(recipe: &Recipe) -> Vec<u32> {
    recipe.trace(1).unwrap().map(|access| access.page).collect()
}

const CHASE: Pattern = Pattern::Chase { hot_pages: 0.0, hot_visits: 0.0, run: 1 };

#[test]
fn a_sweep_reads_each_page_by_its_lines_and_begins_again() {
    let seen = pages(&recipe(1000, vec![zone(10, 4, Pattern::Sweep)]));
    let mut visits = seen.clone();
    visits.dedup();
    assert!(visits.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 10), "{visits:?}");
    let middle = seen.iter().skip_while(|page| **page != 3).skip_while(|page| **page == 3);
    assert_eq!(middle.take_while(|page| **page == 4).count(), 4);
}

#[test]
fn a_stride_goes_over_the_same_pages_for_its_rounds_and_then_over_the_next() {
    let seen = pages(&recipe(400, vec![zone(100, 1, Pattern::Stride { pages: 25, rounds: 2 })]));
    let rounds: Vec<_> = seen.iter().skip_while(|page| **page >= 25).copied().collect::<Vec<_>>();
    let columns: Vec<_> = rounds.chunks_exact(4).map(|round| round[0]).collect();
    assert!(rounds.chunks_exact(4).all(|r| r[1] == r[0] + 25 && r[2] == r[0] + 50 && r[3] == r[0] + 75), "{rounds:?}");
    let changes = columns.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((columns.len() / 2).abs_diff(changes) <= 1, "two rounds a column: {columns:?}");
}

#[test]
fn hot_pages_get_their_part_of_the_visits_in_runs_spread_over_the_zone() {
    // 100 of 1000 pages are hot, in ten runs of 10 at 0, 100, 200, ... 80 % of the visits go there,
    // and so does a tenth of the other 20 %, which go anywhere.
    let seen =
        pages(&recipe(100_000, vec![zone(1000, 1, Pattern::Chase { hot_pages: 0.1, hot_visits: 0.8, run: 10 })]));
    let hot = seen.iter().filter(|page| **page % 100 < 10).count();
    assert!((81_000..83_000).contains(&hot), "{hot} of 100,000");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 1000);
}

#[test]
fn a_drifting_window_moves_through_the_whole_zone() {
    let drift = Pattern::Drift { window: 5, visits: 10 };
    let seen = pages(&recipe(1000, vec![zone(50, 1, drift)]));
    assert!(seen.chunks(10).all(|stay| spread(stay, 50) <= 6), "a window of 5 that moves by one");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 50);
}

/// Length of the shortest arc of a ring that holds all the pages.
fn spread(pages: &[u32], ring: u32) -> u32 {
    let distances = pages.iter().map(|start| pages.iter().map(|page| (page + ring - start) % ring + 1).max());
    distances.flatten().min().unwrap()
}

#[test]
fn zones_get_accesses_by_weight_and_one_of_weight_0_gets_none() {
    let mut zones = vec![zone(10, 1, CHASE), zone(10, 1, CHASE), zone(10, 1, CHASE)];
    (zones[0].weight, zones[1].weight, zones[2].weight) = (3.0, 1.0, 0.0);
    let seen = pages(&recipe(100_000, zones));
    let first = seen.iter().filter(|page| **page < 10).count();
    assert!((74_000..76_000).contains(&first), "{first}");
    assert!(seen.iter().all(|page| *page < 20));
}

#[test]
fn threads_take_turns_and_keep_to_their_parts() {
    let mut four = recipe(4000, vec![zone(40, 1, CHASE), zone(10, 1, CHASE)]);
    four.threads = 4;
    four.zones[1].shared = true;
    let trace: Vec<_> = four.trace(3).unwrap().collect();
    assert!(trace.chunks(4).all(|round| round.iter().map(|access| access.thread).eq(0..4)));
    assert!(trace.iter().filter(|a| a.page < 40).all(|a| a.page / 10 == u32::from(a.thread)));
    let sharers: BTreeSet<_> = trace.iter().filter(|a| a.page == 45).map(|a| a.thread).collect();
    assert_eq!(sharers.len(), 4);
}

#[test]
fn a_value_that_cannot_be_is_named() {
    let refused = |change: fn(&mut Recipe)| {
        let mut wrong = recipe(10, vec![zone(10, 1, CHASE)]);
        change(&mut wrong);
        wrong.trace(1).unwrap_err().to_string()
    };
    assert_eq!(refused(|r| r.threads = 0), "trace recipe: `threads` is 0; it must be at least 1");
    assert_eq!(refused(|r| r.zones[0].lines = 0), "trace recipe: `zones[0].lines` is 0; it must be at least 1");
    assert_eq!(
        refused(|r| r.zones[0].weight = 0.0),
        "trace recipe: `zones.weight` are all 0; at least one zone must be accessed"
    );
    assert!(refused(|r| r.threads = 11).contains("`zones[0].pages` is 10; it must be at least 11"));
    assert!(refused(|r| r.zones.clear()).contains("`zones` is empty"));
    assert!(refused(|r| r.zones[0].weight = f64::NAN).contains("has NaN; a weight must be 0 or above"));
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Sweep),
        (1..200_u32, 1..5_u32).prop_map(|(pages, rounds)| Pattern::Stride { pages, rounds }),
        (0.0..=1.0, 0.0..=1.0, 1..300_u32).prop_map(|(hot_pages, hot_visits, run)| Pattern::Chase {
            hot_pages,
            hot_visits,
            run
        }),
        (1..300_u32, 1..20_u32).prop_map(|(window, visits)| Pattern::Drift { window, visits }),
    ]
}

fn any_recipe() -> impl Strategy<Value = Recipe> {
    let zone = (8..200_u32, 0.01..5.0, 1..=64_u32, pattern(), prop::bool::ANY)
        .prop_map(|(pages, weight, lines, pattern, shared)| Zone { pages, weight, lines, pattern, shared });
    (1..=8_u16, 0..2000_u64, prop::collection::vec(zone, 1..5)).prop_map(|(threads, accesses, zones)| Recipe {
        threads,
        accesses,
        zones,
    })
}

proptest! {
    #[test]
    fn every_trace_keeps_to_its_recipe(recipe in any_recipe(), seed in 0..u64::MAX) {
        let trace: Vec<_> = recipe.trace(seed).unwrap().collect();
        prop_assert_eq!(u64::try_from(trace.len()).unwrap(), recipe.accesses);
        prop_assert!(trace.iter().all(|access| access.page < recipe.pages() && access.thread < recipe.threads));
        prop_assert_eq!(trace, recipe.trace(seed).unwrap().collect::<Vec<_>>());
    }
}
