//! Properties that every heuristic of the registry must have, on any workload.

use isobar_model::CacheClass::{LightSharing, Sensitive, Streaming};
use isobar_model::profile::{Profile, Row};
use isobar_partition::heuristics::lfoc_plus::{App, Settings, partition};
use isobar_partition::heuristics::{Setting, by_name, registry};
use isobar_partition::model::{Bandwidth, PbbCache};
use isobar_partition::{Cluster, PartitionError, Solution};
use proptest::prelude::*;

/// One way count of any curve; curves need not fall.
fn row() -> impl Strategy<Value = Row> {
    (0.1..3.0_f64, 0.0..40.0_f64, 0.0..60.0_f64, 0.0..9000.0_f64).prop_map(|(ipc, llcmpki, llcmpkc, bandwidth_mbps)| {
        Row {
            ipc,
            llcmpki,
            llcmpkc,
            bandwidth_mbps,
            stalls_total: 0.5,
            stalls_l3_miss: 0.3,
            stalls_store_buf: 0.1,
            ..Row::default()
        }
    })
}

/// A streaming program: many misses, never slow.
fn streaming() -> impl Strategy<Value = Vec<Row>> {
    let row = (1.0..1.02_f64, 20.0..40.0_f64);
    let made = |(ipc, llcmpkc)| Row { ipc, llcmpki: llcmpkc, llcmpkc, bandwidth_mbps: 3000.0, ..Row::default() };
    prop::collection::vec(row.prop_map(made), 11)
}

fn workload(most: usize) -> impl Strategy<Value = Vec<Profile>> {
    let any = prop_oneof![3 => prop::collection::vec(row(), 11), 1 => streaming()];
    prop::collection::vec(any, 1..=most).prop_map(|tables| {
        tables.into_iter().enumerate().map(|(index, rows)| Profile::new(&format!("p{index}"), rows).unwrap()).collect()
    })
}

/// Slowdown and misses over ways.
type Curves = (Vec<f64>, Vec<f64>);

fn model(programs: &[Profile], ways: usize) -> PbbCache {
    PbbCache::new(Bandwidth::Simple, programs.to_vec(), ways, None)
}

fn ways_of(group: &[Cluster]) -> usize {
    group.iter().map(|cluster| cluster.ways).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_answer_is_valid_uses_all_ways_and_is_the_same_again(
        programs in workload(14), groups in 1_usize..4, ways in 1_usize..=16, most in 1_usize..6, least in 1_usize..3,
    ) {
        let model = model(&programs, ways);
        let setting = Setting { max_clusters: Some(most), min_ways: least, ..Setting::new(groups, programs.len()) };
        for entry in registry() {
            let solution = match entry.run(&model, &setting) {
                Ok(solution) => solution,
                Err(PartitionError::Refused { heuristic, .. }) => {
                    prop_assert!(["equal", "ucp", "ucp-slowdown"].contains(&heuristic), "{}", entry.name);
                    continue;
                }
                Err(error) => panic!("{}: {error}", entry.name),
            };
            prop_assert!(solution.validate(programs.len(), ways).is_ok(), "{}: {solution:?}", entry.name);
            prop_assert_eq!(solution.groups.len(), groups);
            for group in solution.groups.iter().filter(|group| !group.is_empty()) {
                prop_assert_eq!(ways_of(group), ways, "{}", entry.name);
                prop_assert!(group.len() <= most, "{}", entry.name);
                prop_assert!(group.iter().all(|cluster| cluster.ways >= least.min(ways)), "{}", entry.name);
                let seated: usize = group.iter().map(|cluster| cluster.programs.len()).sum();
                prop_assert!(seated <= setting.cores_per_group, "{}", entry.name);
            }
            prop_assert_eq!(entry.run(&model, &setting).unwrap(), solution);
        }
    }

    /// For algorithms in which order decides nothing: no remainder, no dealing, no ties (with
    /// curves that fall, a slowdown of 1 needs all ways).
    #[test]
    fn renaming_programs_renames_the_answer(
        tables in prop::collection::vec(prop::collection::vec(row(), 11), 1..8), turn in 0_usize..8,
    ) {
        let named = |(index, rows): (usize, &Vec<Row>)| {
            let mut rows = rows.clone();
            rows.sort_by(|a, b| a.ipc.total_cmp(&b.ipc));
            Profile::new(&format!("p{index}"), rows).unwrap()
        };
        let programs: Vec<Profile> = tables.iter().enumerate().map(named).collect();
        let count = programs.len();
        let turned: Vec<Profile> = (0..count).map(|index| programs[(index + turn) % count].clone()).collect();
        for name in ["none", "ucp", "ucp-slowdown", "whirlpool", "kpart", "lfoc", "lfoc+"] {
            let run = |programs: &[Profile]| by_name(name).unwrap().run(&model(programs, 11), &Setting::new(1, count)).unwrap();
            let back = |program: &usize| (program + turn) % count;
            let mut renamed = run(&turned);
            for cluster in &mut renamed.groups[0] {
                cluster.programs = cluster.programs.iter().map(back).collect();
            }
            // Light-sharing programs are dealt out in order: the algorithm itself makes this
            // exception.
            let light = name.starts_with("lfoc") && lights(&programs) > 0;
            prop_assert!(light || renamed.canonical() == run(&programs), "{}", name);
        }
    }

    #[test]
    fn lfoc_plus_keeps_streaming_apart_and_pairs_at_most(
        classes in prop::collection::vec(0_usize..3, 0..23),
        curves in prop::collection::vec((prop::collection::vec(1.0..4.0_f64, 1..16), prop::collection::vec(0.0..50.0_f64, 1..16)), 23),
        ways in 1_usize..21, most in prop::option::of(0_usize..17), least in 0_usize..4,
    ) {
        let class = [LightSharing, Streaming, Sensitive];
        let app = |(kind, (slowdown, llcmpkc)): (&usize, &'_ Curves)| (class[*kind], slowdown.clone(), llcmpkc.clone());
        let owned: Vec<_> = classes.iter().zip(&curves).map(app).collect();
        let apps: Vec<App<'_>> =
            owned.iter().map(|(class, slowdown, llcmpkc)| App { class: *class, slowdown, llcmpkc }).collect();
        let settings = Settings { max_clusters: most, min_ways: least, ..Settings::default() };
        let clusters = partition(&apps, ways, &settings);
        let least = least.clamp(1, ways);
        let solution = Solution { groups: vec![clusters.clone()] };
        prop_assert!(solution.validate(apps.len(), ways).is_ok());
        prop_assert!(apps.is_empty() || ways_of(&clusters) == ways);
        prop_assert!(clusters.len() <= most.unwrap_or(usize::MAX).max(1));
        prop_assert!(clusters.iter().all(|cluster| cluster.ways >= least));
        let has = |cluster: &Cluster, wanted| cluster.programs.iter().filter(|program| apps[**program].class == wanted).count();
        let room = ways >= 2 * least && most.is_none_or(|most| most >= 2);
        let all = apps.iter().filter(|app| app.class == Sensitive).count();
        let of_sensitive = clusters.iter().filter(|cluster| has(cluster, Sensitive) > 0);
        let (homes, homes_ways) = of_sensitive.fold((0, 0), |(count, ways), cluster| (count + 1, ways + cluster.ways));
        for cluster in &clusters {
            prop_assert!(!room || has(cluster, Sensitive) == 0 || has(cluster, Streaming) == 0);
            let slots = (homes_ways / least).min(most.map_or(usize::MAX, |most| most.saturating_sub(clusters.len() - homes)));
            prop_assert!(has(cluster, Sensitive) <= 2 || all > 2 * slots, "{:?}", clusters);
        }
    }
}

/// Number of programs that are light sharing by their curves.
fn lights(programs: &[Profile]) -> usize {
    use isobar_partition::class::{ClassLimits, of_profile};
    programs.iter().filter(|profile| of_profile(profile, ClassLimits::default()) == LightSharing).count()
}
