//! LFOC+ on a small machine: what it does epoch by epoch.

use super::*;
use crate::divide_content::test_kit::{Curve, World, said};
use isobar_model::CacheClass;

fn sensitive() -> Curve {
    vec![(1.0, 20.0), (1.3, 12.0), (1.6, 6.0), (2.0, 1.0)]
}

fn streaming() -> Curve {
    vec![(1.0, 20.0)]
}

fn light() -> Curve {
    vec![(2.0, 0.1)]
}

fn policy() -> LfocPlus {
    LfocPlus::new(Config { warm_up_seconds: 2.0, ..Config::default() })
}

/// A sensitive, a streaming and a light-sharing program on one LLC of 16 ways.
fn mixed() -> World {
    let mut world = World::new("node:1 core:8");
    world.program(10, &[0], &sensitive());
    world.program(20, &[1], &streaming());
    world.program(30, &[2], &light());
    world
}

#[test]
fn the_sampling_of_three_programs_epoch_by_epoch() {
    let (mut world, mut lfoc) = (mixed(), policy());
    let epochs: Vec<Vec<String>> = (0..10).map(|_| said(&world.step(&mut lfoc))).collect();
    let want: [&[&str]; 10] = [
        &[],                                     // warm-up
        &["0:sampling=0x1", "0:rest=0xfffe"],    // 10 with 1 way ...
        &["0:sampling=0x7fff", "0:rest=0x8000"], // ... with 15: twice as fast
        &["0:sampling=0x3", "0:rest=0xfffc"],    // ... 2 and 3: not there yet
        &["0:sampling=0x7", "0:rest=0xfff8"],
        &["0:sampling=0xf", "0:rest=0xfff0"],    // ... 4: as fast as with 15
        &["0:sampling=0x1", "0:rest=0xfffe"],    // 20 with 1
        &["0:sampling=0x7fff", "0:rest=0x8000"], // ... with 15: no faster, misses much: streaming
        &["0:sampling=0x1", "0:rest=0xfffe"],    // 30 with 1: hardly a miss
        &["0:sampling removed", "0:rest removed", "0:sensitive-0=0x3fff", "0:streaming-0=0xc000"],
    ];
    assert_eq!(epochs, want);
    // A steady workload is left alone.
    assert!((0..50).all(|_| world.step(&mut lfoc).actions.is_empty()));
}

#[test]
fn profiles_spare_the_sampling() {
    let mut world = mixed();
    for (process, class) in
        world.seen.processes.iter_mut().zip([CacheClass::Sensitive, CacheClass::Streaming, CacheClass::LightSharing])
    {
        process.cache_class = Some(class);
    }
    world.seen.processes[0].slowdown_by_ways = Some(vec![2.0, 1.5, 1.2, 1.0]);
    let mut lfoc = policy();
    assert_eq!(said(&world.step(&mut lfoc)), ["0:sensitive-0=0x3fff", "0:streaming-0=0xc000"]);
    assert!((0..20).all(|_| world.step(&mut lfoc).actions.is_empty()));
}

#[test]
fn a_class_change_is_noticed_and_sampled_within_a_bounded_number_of_epochs() {
    let (mut world, mut lfoc) = (mixed(), policy());
    (0..30).for_each(|_| drop(world.step(&mut lfoc)));
    // The streaming program begins to miss little: 3 epochs that do not match, and 2 readings.
    world.curves.insert(isobar_model::Pid(20), light());
    world.pass();
    let epochs: Vec<Vec<String>> = (0..5).map(|_| said(&world.step(&mut lfoc))).collect();
    assert!(epochs[..2].iter().all(Vec::is_empty), "{epochs:?}");
    assert_eq!(epochs[2][2..], ["0:sampling=0x1", "0:rest=0xfffe"]);
    assert_eq!(epochs[3], ["0:sampling removed", "0:rest removed"], "none streams any more: one partition for all");
    // And back: the old profile fits again, so no sampling is needed.
    world.curves.insert(isobar_model::Pid(20), streaming());
    world.pass();
    let back: Vec<Vec<String>> = (0..3).map(|_| said(&world.step(&mut lfoc))).collect();
    assert_eq!(back[2], ["0:sensitive-0=0x3fff", "0:streaming-0=0xc000"]);
}

#[test]
fn a_program_that_changes_all_the_time_does_not_hold_the_cache_in_sampling_mode() {
    let (mut world, mut lfoc) = (mixed(), policy());
    let mut sampled = 0;
    for epoch in 0..400_u32 {
        // Each time another rate, so that no old profile fits.
        let rate = 2.0 * 2.0_f64.powi(i32::try_from(epoch / 4 % 5).unwrap()) * (1.0 + f64::from(epoch % 7));
        world.curves.insert(isobar_model::Pid(30), vec![(1.5, 2.0 * rate), (1.6, rate)]);
        let sampling = said(&world.step(&mut lfoc)).iter().any(|what| what.contains("sampling="));
        sampled += u32::from(sampling && epoch > 50);
    }
    assert!(sampled < 40, "{sampled} of 350 epochs");
}

#[test]
fn the_next_run_of_a_program_begins_with_the_profile_of_the_last() {
    let (mut world, mut lfoc) = (mixed(), policy());
    (0..20).for_each(|_| drop(world.step(&mut lfoc)));
    let old = world.seen.processes.remove(1);
    world.step(&mut lfoc);
    world.program(40, &[1], &streaming()).name = old.name;
    let plan = said(&world.step(&mut lfoc));
    assert_eq!(plan, ["0:sensitive-0=0x3fff", "0:streaming-0=0xc000"]);
}

#[test]
fn threads_of_a_program_share_a_partition_and_a_program_may_be_on_two_llcs() {
    let mut world = World::new("node:2 core:4");
    world.known(10, &[0], CacheClass::Sensitive, 9, 1.0);
    world.known(20, &[1, 2, 4, 5], CacheClass::Streaming, 1, 20.0);
    world.known(30, &[6], CacheClass::Sensitive, 5, 1.0);
    let plan = world.step(&mut policy());
    let members: Vec<(u32, usize)> = plan
        .actions
        .iter()
        .filter_map(|action| match action {
            isobar_model::Action::SetWays { llc, threads, .. } => Some((llc.0, threads.len())),
            _ => None,
        })
        .collect();
    assert_eq!(members, [(0, 1), (0, 2), (1, 1), (1, 2)]);
}

#[test]
fn more_threads_than_cpus_are_not_partitioned() {
    let (mut world, mut lfoc) = (mixed(), policy());
    (0..20).for_each(|_| drop(world.step(&mut lfoc)));
    world.program(50, &[0, 1, 2, 3, 4, 5, 6, 7], &light());
    let plan = world.step(&mut lfoc);
    assert_eq!(said(&plan), ["0:sensitive-0 removed", "0:streaming-0 removed"]);
    assert!(plan.actions[0].reason().contains("more threads than CPUs"));
}

#[test]
fn streaming_clusters_may_get_a_share_of_the_bandwidth() {
    let mut lfoc = LfocPlus::new(Config { streaming_bandwidth_percent: 50, ..Config::default() });
    let mut world = World::new("node:1 core:4");
    world.known(10, &[0], CacheClass::Sensitive, 9, 1.0);
    world.known(20, &[1], CacheClass::Streaming, 1, 20.0);
    let shares: Vec<Option<u32>> = world
        .step(&mut lfoc)
        .actions
        .iter()
        .map(|action| match action {
            isobar_model::Action::SetWays { memory_bandwidth_percent, .. } => *memory_bandwidth_percent,
            _ => None,
        })
        .collect();
    assert_eq!(shares, [None, Some(50)]);
}

#[test]
fn half_a_partitioning_is_taken_away_and_tried_again_later() {
    let mut world = World::new("node:1 core:4");
    world.known(10, &[0], CacheClass::Sensitive, 9, 1.0);
    world.known(20, &[1], CacheClass::Streaming, 1, 20.0);
    let mut lfoc = policy();
    // Only the streaming cluster is refused, three times.
    let mut epoch = |refuses: bool| {
        let plan = lfoc.decide(&world.seen);
        let each = |action: &isobar_model::Action| match action {
            isobar_model::Action::SetWays { cluster, .. } if refuses && cluster == "streaming-0" => {
                isobar_model::ActionOutcome::Refused { errno: Some(28), why: "no class is free".into() }
            }
            _ => isobar_model::ActionOutcome::Done,
        };
        let actions = plan.actions.iter().map(each).collect();
        lfoc.applied(&plan, &Outcome { actions });
        world.pass();
        said(&plan)
    };
    let both = ["0:sensitive-0=0x3fff", "0:streaming-0=0xc000"];
    assert_eq!(epoch(true), both);
    assert_eq!(epoch(true), ["0:sensitive-0 removed"], "alone it would protect nothing");
    assert_eq!(epoch(true), both, "after two epochs");
    assert_eq!(epoch(true), ["0:sensitive-0 removed"]);
    assert_eq!([epoch(true), epoch(true)], [[""; 0]; 2]);
    assert_eq!(epoch(false), both, "after four");
    assert!((0..20).all(|_| epoch(true).is_empty()), "in force");
}
