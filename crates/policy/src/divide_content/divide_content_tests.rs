//! Algorithms 2 and 3 on a small world.

use super::*;
use crate::divide_content::test_kit::{World, said};
use isobar_model::CacheClass::{LightSharing, Sensitive, Streaming};

fn policy() -> DivideContent {
    DivideContent::new(Config::default())
}

/// Two LLCs of 16 ways and four cores, 20 GB/s a node; both sensitive programs on LLC 0.
fn crowded() -> World {
    let mut world = World::new("node:2 core:4");
    world.known(10, &[0], Sensitive, 10, 1.0);
    world.known(20, &[1], Sensitive, 9, 1.0);
    world.known(30, &[2], Streaming, 1, 2.0);
    world.known(40, &[4], LightSharing, 1, 0.1);
    world.known(50, &[5], LightSharing, 1, 0.1);
    world
}

#[test]
fn groups_are_evened_out_first_and_partitioned_then() {
    let (mut world, mut policy) = (crowded(), policy());
    // AG_LLC 10 + 9 + 2 = 21 against 2: more than the 16 ways, and a gap of more than 7. 20 has the
    // lower need and goes over, and so does the streaming program: 1.0 GB/s of 10 and 20 each are
    // equal, so it stays. LLC 1 has room; none has to come back.
    assert_eq!(said(&world.step(&mut policy)), ["20>6"]);
    assert_eq!(world.places(), [0, 1, 0, 1, 1]);
    assert_eq!(
        said(&world.step(&mut policy)),
        ["0:sensitive-0=0x3fff", "0:streaming-0=0xc000"],
        "on LLC 1 one sensitive program is among light ones: nothing to protect"
    );
    assert!((0..30).all(|_| world.step(&mut policy).actions.is_empty()));
}

#[test]
fn who_is_pinned_stays_and_the_reason_names_the_loads() {
    let mut world = crowded();
    world.seen.processes[1].threads[0].pinned = true;
    let plan = world.step(&mut policy());
    assert_eq!(said(&plan), ["10>6"], "the other one goes");
    assert_eq!(plan.actions[0].reason(), "llc 0 bears 21 ways and 4.0 GB/s, llc 1 2 and 0.2: p10 goes to llc 1");
}

#[test]
fn a_cpuset_is_respected() {
    let mut world = crowded();
    world.seen.processes[1].threads[0].allowed_cpus = Some("0-3".parse().unwrap());
    assert_eq!(said(&world.step(&mut policy())), ["10>6"]);
    let mut world = crowded();
    world.seen.processes[1].threads[0].allowed_cpus = Some("0-3,7".parse().unwrap());
    assert_eq!(said(&world.step(&mut policy())), ["20>7"]);
}

#[test]
fn a_program_that_moved_stays_for_eight_seconds() {
    let (mut world, mut policy) = (crowded(), policy());
    world.step(&mut policy);
    // The other one's need vanishes, and two programs of 16 and 8 ways begin on LLC 1: uneven at
    // once.
    world.known(60, &[7], Sensitive, 16, 1.0);
    let moves: Vec<Vec<String>> = (0..12).map(|_| said(&world.step(&mut policy))).collect();
    let moved = |plan: &Vec<String>| plan.iter().any(|what| what.contains('>'));
    let first = moves.iter().position(moved);
    assert!(first.is_some_and(|epoch| epoch >= 3), "groups rest for 4 s: {moves:?}");
    let of_20 = moves.iter().position(|plan| plan.iter().any(|what| what.starts_with("20>")));
    assert!(of_20.is_none_or(|epoch| epoch >= 7), "{moves:?}");
}

#[test]
fn while_threads_are_under_way_a_group_waits() {
    let (mut world, mut policy) = (crowded(), policy());
    let plan = policy.decide(&world.seen);
    assert_eq!(said(&plan), ["20>6"]);
    // It is not carried out: two epochs of patience, then partitions as things are.
    let epochs: Vec<Vec<String>> = (0..3)
        .map(|_| {
            world.pass();
            said(&policy.decide(&world.seen))
        })
        .collect();
    assert_eq!(epochs[..2], [Vec::<String>::new(), Vec::new()]);
    assert!(epochs[2].iter().any(|what| what.starts_with("0:sensitive-0=")), "{epochs:?}");
}

#[test]
fn no_thread_moves_while_a_group_is_sampled() {
    let (mut world, mut policy) = (crowded(), policy());
    // Even at first: 10 + 1 + 2 ways fit. A program without a profile is on LLC 1; its sampling
    // begins in the second epoch.
    world.seen.processes[1].critical_ways = Some(1);
    world.program(60, &[6], &[(1.0, 20.0)]);
    assert!(said(&world.step(&mut policy)).iter().all(|what| what.starts_with("0:")));
    world.seen.processes[1].critical_ways = Some(9);
    let epochs: Vec<Vec<String>> = (0..12).map(|_| said(&world.step(&mut policy))).collect();
    let last = epochs.iter().rposition(|plan| plan.iter().any(|what| what.starts_with("1:sampling=")));
    let first = epochs.iter().position(|plan| plan.iter().any(|what| what.contains('>')));
    assert_eq!((last, first), (Some(1), Some(3)), "{epochs:?}");
}

#[test]
fn bandwidth_is_evened_out_between_nodes_and_not_within_one() {
    let four = |machine: &str| {
        let mut world = World::new(machine);
        for (pid, cpu) in [(10, 0), (20, 1), (30, 2), (40, 3)] {
            world.known(pid, &[cpu], Streaming, 1, 5.0);
        }
        world
    };
    assert_eq!(said(&four("node:2 core:4").step(&mut policy())), ["20>4", "40>5"]);
    assert!(said(&four("node:1 llc:2 core:4").step(&mut policy())).is_empty());
}

#[test]
fn oversubscribed_groups_are_balanced_and_not_partitioned() {
    let (mut world, mut policy) = (crowded(), policy());
    world.step(&mut policy);
    assert!(!world.step(&mut policy).actions.is_empty());
    world.known(60, &[0, 1, 2, 3, 0], LightSharing, 1, 0.0);
    let plan = said(&world.step(&mut policy));
    assert_eq!(plan, ["0:sensitive-0 removed", "0:streaming-0 removed"]);
}

#[test]
fn unbound_threads_are_bound_where_they_run() {
    let mut world = World::new("node:2 core:4");
    world.known(10, &[0, 0], LightSharing, 1, 0.1);
    world.known(20, &[5], LightSharing, 1, 0.1);
    world
        .seen
        .processes
        .iter_mut()
        .flat_map(|process| &mut process.threads)
        .for_each(|thread| thread.bound = Some(false));
    assert_eq!(said(&world.step(&mut policy())), ["10>1", "11>0", "20>5"]);
}
