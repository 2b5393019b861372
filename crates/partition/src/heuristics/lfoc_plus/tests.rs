//! Algorithm 1 worked by hand.

use super::*;
use CacheClass::{LightSharing, Sensitive, Streaming};

const STEEP: &[f64] = &[4.0, 1.0, 1.0, 1.0];
const FLAT: &[f64] = &[1.2, 1.2, 1.2, 1.2];
const EVEN: &[f64] = &[10.0, 10.0, 10.0, 10.0];

fn sensitive(slowdown: &'static [f64]) -> App<'static> {
    App { class: Sensitive, slowdown, llcmpkc: EVEN }
}

fn plain(class: CacheClass) -> App<'static> {
    App { class, slowdown: &[], llcmpkc: &[] }
}

/// Checks the clusters as (programs, ways).
fn check(apps: &[App<'_>], ways: usize, settings: Settings, expect: &[(&[usize], usize)]) {
    let got: Vec<_> = partition(apps, ways, &settings).into_iter().map(|c| (c.programs, c.ways)).collect();
    let expect: Vec<_> = expect.iter().map(|(programs, ways)| (programs.to_vec(), *ways)).collect();
    assert_eq!(got, expect);
}

fn usual() -> Settings {
    Settings::default()
}

#[test]
fn nobody_sensitive_means_one_cluster() {
    check(&[], 11, usual(), &[]);
    check(&[plain(Streaming), plain(LightSharing)], 11, usual(), &[(&[0, 1], 11)]);
    check(&[sensitive(STEEP)], 11, usual(), &[(&[0], 11)]);
}

#[test]
fn more_than_five_streaming_programs_have_two_partitions() {
    // 6 streaming programs: min(2, ceil(6 / 5)) = 2 partitions of 2 ways, ceil(6 / 2) = 3 programs
    // each; 11 - 4 = 7 ways are left.
    let mut apps = vec![plain(Streaming); 6];
    apps.push(sensitive(STEEP));
    check(&apps, 11, usual(), &[(&[0, 1, 2], 2), (&[3, 4, 5], 2), (&[6], 7)]);
    check(&apps[1..], 11, usual(), &[(&[0, 1, 2, 3, 4], 2), (&[5], 9)]);
}

#[test]
fn light_sharing_programs_fill_the_gaps_then_go_round() {
    // Two streaming partitions of 4 programs and 2 ways: each has 10 places, of which 6 are free,
    // with 3 gaps each. The first partition takes all seven.
    let mut apps = vec![plain(Streaming); 8];
    apps.extend([sensitive(STEEP), sensitive(STEEP)]);
    apps.extend([plain(LightSharing); 7]);
    let first: &[usize] = &[0, 1, 2, 3, 10, 11, 12, 13, 14, 15, 16];
    check(&apps, 8, usual(), &[(first, 2), (&[4, 5, 6, 7], 2), (&[8], 2), (&[9], 2)]);
    // One way: 5 places, 1 of them free, so 3 gaps in each; the seventh goes to the first sensitive
    // program.
    let narrow = Settings { ways_streaming: 1, ..usual() };
    let (first, second): (&[usize], &[usize]) = (&[0, 1, 2, 3, 10, 11, 12], &[4, 5, 6, 7, 13, 14, 15]);
    check(&apps, 6, narrow, &[(first, 1), (second, 1), (&[8, 16], 2), (&[9], 2)]);
}

#[test]
fn the_most_slowed_down_gains_a_way_where_two_share() {
    // Three ways, one each: 4 + 1.2 + 1.2. The steep program with two ways and the flat ones
    // together on one: 1 + 1.2 + 1.2. If the steep program joined a flat one, it would have one way
    // of two: 4.
    check(&[sensitive(FLAT), sensitive(STEEP), sensitive(FLAT)], 3, usual(), &[(&[0, 2], 1), (&[1], 2)]);
}

#[test]
fn two_that_differ_share_what_neither_has_alone() {
    // Ways 1 and 2 give 3 + 2. Joined, the first program misses nine times as much and takes most
    // of the three ways: a lower sum.
    let greedy = App { class: Sensitive, slowdown: &[3.0, 2.0, 1.0], llcmpkc: &[90.0, 90.0, 90.0] };
    let modest = App { class: Sensitive, slowdown: &[1.1, 1.0, 1.0], llcmpkc: &[10.0, 10.0, 10.0] };
    // Lookahead gives the greedy program 2 ways: 2 + 1.1 = 3.1. Joined, they have 2.7 and 0.3 ways:
    // 1.3 + (1.1 + 0.7 * 0.1) = 2.47.
    check(&[greedy, modest], 3, usual(), &[(&[0, 1], 3)]);
}

#[test]
fn the_fair_start_is_taken_where_it_is_fairer() {
    // 2 ways to give. Lookahead gives both to the second program (0.2 per way against 0.05): 1.5
    // and 1.0. The fair start gives both to the first, which is the most slowed-down one
    // throughout: 1.4 and 1.4. Joined, they have two each: 1.45 and 1.2.
    let slow = sensitive(&[1.5, 1.45, 1.4, 1.35]);
    let quick = sensitive(&[1.4, 1.2, 1.0, 1.0]);
    check(&[slow, quick], 4, usual(), &[(&[0], 3), (&[1], 1)]);
}

#[test]
fn more_sensitive_programs_than_ways_share_by_two() {
    // Five programs on three ways: two pairs at most, and the steep program alone.
    let apps = [FLAT, FLAT, STEEP, FLAT, FLAT].map(sensitive);
    check(&apps, 3, usual(), &[(&[0, 1], 1), (&[2], 1), (&[3, 4], 1)]);
}

#[test]
fn few_classes_of_service_merge_streaming_first_then_the_least_harmful() {
    let mut apps = vec![plain(Streaming); 6];
    apps.extend([FLAT, STEEP, FLAT].map(sensitive));
    let of = |max| Settings { max_clusters: Some(max), ..usual() };
    // Four clusters: one streaming partition, and three sensitive programs with one partition each.
    let four = partition(&apps, 11, &of(4));
    assert_eq!((four.len(), four[0].programs.len(), four[0].ways), (4, 6, 2));
    // Three clusters: the two flat programs lose nothing by sharing.
    let three: Vec<_> = partition(&apps, 11, &of(3)).into_iter().map(|cluster| cluster.programs).collect();
    assert_eq!(three, [vec![0, 1, 2, 3, 4, 5], vec![6, 8], vec![7]]);
    assert_eq!(partition(&apps, 11, &of(2)).len(), 2);
    check(&apps, 11, of(1), &[(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 11)]);
    check(&apps, 11, of(0), &[(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 11)]);
}

#[test]
fn few_ways_shrink_the_streaming_side_first() {
    let mut apps = vec![plain(Streaming); 6];
    apps.push(sensitive(STEEP));
    check(&apps, 5, usual(), &[(&[0, 1, 2], 2), (&[3, 4, 5], 2), (&[6], 1)]);
    check(&apps, 4, usual(), &[(&[0, 1, 2, 3, 4, 5], 2), (&[6], 2)]);
    check(&apps, 2, usual(), &[(&[0, 1, 2, 3, 4, 5], 1), (&[6], 1)]);
    check(&apps, 1, usual(), &[(&[0, 1, 2, 3, 4, 5, 6], 1)]);
    let coarse = Settings { min_ways: 3, ..usual() };
    check(&apps, 11, coarse, &[(&[0, 1, 2], 3), (&[3, 4, 5], 3), (&[6], 5)]);
    check(&apps, 5, coarse, &[(&[0, 1, 2, 3, 4, 5, 6], 5)]);
}

#[test]
fn without_pairs_every_sensitive_program_is_alone() {
    let apps = [FLAT, STEEP, FLAT].map(sensitive);
    let got: Vec<_> = partition_without_pairs(&apps, 4, &usual()).into_iter().map(|c| (c.programs, c.ways)).collect();
    assert_eq!(got, [(vec![0], 1), (vec![1], 2), (vec![2], 1)]);
}
