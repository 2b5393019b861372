//! Checks DINO against the worked example of section 3.3.3, step by step, and tests the cases
//! around it.

use super::*;
use crate::dino::test_kit::{example, programs};
use crate::test_kit::{carry_out, cpus_after, with_pages};

/// Threads 0, 3, 4 and 5 are process 0 (here 10, since a pid of 0 would be odd); 1, 2, 6 and 7 are
/// processes of their own. Thread n runs on core n. Classes now: D = 0 and 7, d = 2, 4 and 6, t =
/// 1, 3 and 5. Thread 7 was a turtle before.
const MACHINE: &str = "node:4 core:2";
const NOW: [(u32, u32, u32, f64); 8] = [
    (10, 0, 0, 150.0),
    (11, 1, 1, 0.5),
    (12, 2, 2, 20.0),
    (10, 3, 3, 0.5),
    (10, 4, 4, 20.0),
    (10, 5, 5, 0.5),
    (13, 6, 6, 20.0),
    (14, 7, 7, 150.0),
];

fn thread_moves(plan: &Plan) -> impl Iterator<Item = &Action> {
    plan.actions.iter().filter(|action| matches!(action, Action::MoveThread { .. }))
}

fn at_once() -> Dino {
    Dino::new((Config { class_window: 1, class_votes: 1, ..Config::default() }, PageSettings::default()))
}

/// The threads on cores 0 to 7, `.` for an empty one.
fn cores(tuples: &[Tuple<'_>], domains: &Domains) -> String {
    let on = |cpu: u32| tuples.iter().find(|tuple| domains.seat(tuple.seat).cpu.0 == cpu);
    (0..8).map(|cpu| on(cpu).map_or(".".to_owned(), |tuple| tuple.member.thread.tid.to_string())).collect()
}

/// The seating after some steps of the example.
fn after_steps(steps: impl Fn(&mut Seating<'_>, &[(Member<'_>, Class)])) -> String {
    let seen = programs(MACHINE, &NOW);
    let domains = Domains::of(&seen.machine);
    let classes = at_once().classify(&seen);
    let groups = Groups::of(&seen, &domains, |_, _| true);
    let members = with_classes(&groups.groups[0], &groups, &classes);
    let slots = layout(&domains, &members, &groups.load, None);
    let mut seating = Seating::new(&domains, &slots, &groups.load, members.len());
    steps(&mut seating, &members);
    let placed = members.iter().zip(seating.seated);
    let tuples: Vec<_> = placed
        .filter_map(|((member, class), seat)| Some(Tuple { member: *member, class: *class, group: 0, seat: seat? }))
        .collect();
    cores(&tuples, &domains)
}

#[test]
fn step_1_classes() {
    let classes = at_once().classify(&programs(MACHINE, &NOW));
    // In the order of pid and tid: 0 3 4 5, 1, 2, 6, 7.
    use Class::{Devil, SuperDevil, Turtle};
    let expected = [SuperDevil, Turtle, Devil, Turtle, Turtle, Devil, Devil, SuperDevil];
    assert_eq!(classes, expected.map(Some));
}

#[test]
fn step_2_layout() {
    let seen = programs(MACHINE, &NOW);
    let domains = Domains::of(&seen.machine);
    let classes = at_once().classify(&seen);
    let groups = Groups::of(&seen, &domains, |_, _| true);
    let members = with_classes(&groups.groups[0], &groups, &classes);
    let mut slots = layout(&domains, &members, &groups.load, None);
    slots.sort_by_key(|slot| slot.seat);
    let letters: String = slots.iter().map(|slot| ["t", "d", "D"][slot.class.index()]).collect();
    assert_eq!(letters, "DtDtdtdd");
}

#[test]
fn steps_3_and_4_keep_cores_and_fill_the_others() {
    let kept_cores = after_steps(|seating, members| {
        seating.keep_cores(members);
    });
    assert_eq!(kept_cores, "01.3456.");
    let kept = |seating: &mut Seating<'_>, members: &[(Member<'_>, Class)]| {
        seating.keep_cores(members);
        seating.keep_domains(members);
    };
    assert_eq!(after_steps(kept), "01.3456.", "no domain has a slot left for its threads");
    let filled = after_steps(|seating, members| {
        kept(seating, members);
        seating.fill(members);
    });
    assert_eq!(filled, "01734562");
}

#[test]
fn step_5_threads_1_and_3_change_places() {
    let seen = programs(MACHINE, &NOW);
    let plan = at_once().decide(&seen);
    // In the order of pid and tid: 0 3 4 5 of process 10, then 1, 2, 6, 7.
    assert_eq!(cpus_after(&seen, &plan), [0, 1, 4, 5, 3, 7, 6, 2]);
    let reasons: Vec<_> = thread_moves(&plan).map(Action::reason).collect();
    assert_eq!(
        reasons,
        [
            "turtle (0.5 MPKI): joins threads of its program on llc 0 (node 0)",
            "turtle (0.5 MPKI): changes places with a turtle of process 10, goes to llc 1 (node 1)",
            "devil (20.0 MPKI): fills a devil's slot on llc 3 (node 3)",
            "super-devil (150.0 MPKI): fills a super-devil's slot on llc 1 (node 1)",
        ]
    );
}

#[test]
fn the_old_interval_first() {
    // Thread 7 was a turtle: the layout was D t d t d t d t, and only 1 and 3 changed places.
    let mut old = NOW;
    old[7].3 = 0.5;
    let mut seen = programs(MACHINE, &old);
    let mut dino = at_once();
    let plan = dino.decide(&seen);
    assert_eq!(cpus_after(&seen, &plan), [0, 1, 4, 5, 3, 2, 6, 7]);
    carry_out(&mut seen, &plan);
    seen.processes[4].threads[0].llc_misses = Some(150_000);
    let plan = dino.decide(&seen);
    assert_eq!(cpus_after(&seen, &plan), [0, 1, 4, 5, 3, 7, 6, 2]);
}

#[test]
fn a_carried_out_decision_moves_nothing_more() {
    let mut seen = programs(MACHINE, &NOW);
    let mut dino = at_once();
    let plan = dino.decide(&seen);
    carry_out(&mut seen, &plan);
    assert_eq!(dino.decide(&seen).actions, []);
}

#[test]
fn hysteresis_holds_a_thread_back() {
    let mut dino = Dino::new(Settings::default());
    let calm = example("node:2 core:2", &[(1, 0, 50.0), (2, 2, 50.0), (3, 1, 1.0), (4, 3, 1.0)]);
    assert_eq!(dino.decide(&calm).actions, []);
    // Threads 1 and 3 change roles: both domains still have one devil, so nothing ever needs to
    // move.
    let swapped = example("node:2 core:2", &[(1, 0, 1.0), (2, 2, 50.0), (3, 1, 50.0), (4, 3, 1.0)]);
    (0..12).for_each(|_| assert_eq!(dino.decide(&swapped).actions, []));
    // Threads 2 and 3 become turtle and devil. Domain 0 has two devils, but the classes change only
    // in the seventh interval.
    let mut dino = Dino::new(Settings::default());
    dino.decide(&calm);
    let crowded = example("node:2 core:2", &[(1, 0, 50.0), (2, 2, 1.0), (3, 1, 50.0), (4, 3, 1.0)]);
    let moves: Vec<_> = (0..7).map(|_| thread_moves(&dino.decide(&crowded)).count()).collect();
    assert_eq!(moves, [0, 0, 0, 0, 0, 0, 2]);
}

#[test]
fn fewer_threads_than_cores_stay_where_they_are_well() {
    // Two devils on different nodes: on the fourth core of one and the third core of the other.
    let seen = example("node:2 core:4", &[(1, 3, 50.0), (2, 6, 50.0)]);
    assert_eq!(at_once().decide(&seen).actions, []);
    let together = example("node:2 core:4", &[(1, 2, 50.0), (2, 3, 50.0)]);
    assert_eq!(cpus_after(&together, &at_once().decide(&together)), [2, 4]);
}

#[test]
fn siblings_of_one_core_are_parted_while_a_core_is_idle() {
    // CPUs 0 and 2 are one core.
    let seen = example("node:1 core:2 pu:2", &[(1, 0, 50.0), (2, 2, 50.0)]);
    assert_eq!(cpus_after(&seen, &at_once().decide(&seen)), [0, 1]);
}

#[test]
fn more_threads_than_cores_share_them_evenly() {
    let threads: Vec<_> = (1..=6).map(|id| (id, 0, if id <= 2 { 50.0 } else { 1.0 })).collect();
    let seen = example("node:2 core:2", &threads);
    let mut cpus = cpus_after(&seen, &at_once().decide(&seen));
    cpus.sort_unstable();
    let on = |cpu| cpus.iter().filter(|on| **on == cpu).count();
    let mut loads = [on(0), on(1), on(2), on(3)];
    loads.sort_unstable();
    assert_eq!(loads, [1, 1, 2, 2], "6 threads on 4 cores");
}

/// A thread that is on its core and not bound there is bound, once. If it is not known whether it
/// is bound, it is taken to be.
#[test]
fn a_kept_core_is_held() {
    let mut seen = example("node:2 core:1", &[(1, 0, 30.0), (2, 1, 30.0)]);
    assert_eq!(at_once().decide(&seen).actions, []);
    seen.processes[0].threads[0].bound = Some(false);
    seen.processes[1].threads[0].bound = Some(true);
    let plan = at_once().decide(&seen);
    assert_eq!((cpus_after(&seen, &plan), plan.actions.len()), (vec![0, 1], 1));
    assert_eq!(plan.actions[0].reason(), "devil (30.0 MPKI): keeps its core, bound so that it stays on llc 0 (node 0)");
}

#[test]
fn pinned_threads_stay_and_count() {
    let mut seen = example("node:2 core:1", &[(1, 0, 50.0), (2, 0, 50.0)]);
    seen.processes[0].threads[0].pinned = true;
    let plan = at_once().decide(&seen);
    assert_eq!(cpus_after(&seen, &plan), [0, 1]);
    assert_eq!(plan.notes, ["1 thread left alone: pinned by their owner"]);
}

#[test]
fn confined_threads_stay_inside_their_cpus() {
    let mut seen = example("node:2 core:2", &[(1, 0, 50.0), (2, 1, 50.0), (3, 2, 1.0), (4, 3, 1.0)]);
    for process in &mut seen.processes[..2] {
        process.threads[0].allowed_cpus = Some("0-1".parse().unwrap());
    }
    assert_eq!(at_once().decide(&seen).actions, [], "both devils may run on node 0 only");
}

#[test]
fn without_miss_rates_it_says_so() {
    let mut seen = example("node:2 core:1", &[(1, 0, 50.0)]);
    seen.processes[0].threads[0].llc_misses = None;
    let plan = at_once().decide(&seen);
    assert_eq!(plan.actions, []);
    assert_eq!(plan.notes, ["nothing to decide: no miss rate was measured for 1 thread"]);
}

#[test]
fn pages_of_a_program_that_is_thrown_to_and_fro_come_to_rest() {
    // Programs 1 and 2 are devil and turtle in turns, without hysteresis. The devil's slot is on
    // node 0, so both cross in every interval, and their pages follow.
    let mut dino = at_once();
    let mut migrations = String::new();
    let mut notes = Vec::new();
    for interval in 0..8 {
        let even = interval % 2 == 0;
        let (first, second) = if even { (50.0, 1.0) } else { (1.0, 50.0) };
        let (here, there) = if even { (1, 0) } else { (0, 1) };
        let mut seen = programs("node:2 core:1", &[(1, 11, here, first), (2, 21, there, second)]);
        with_pages(&mut seen, 1, if even { &[0, 9_000] } else { &[9_000, 0] });
        let plan = dino.decide(&seen);
        assert_eq!(plan.validate(&seen), Ok(()));
        let asked = plan.actions.iter().filter(|action| matches!(action, Action::MigratePages { pid: Pid(1), .. }));
        migrations.push_str(&asked.count().to_string());
        notes.extend(plan.notes);
    }
    assert_eq!(migrations, "11000000", "there, back, and the third is one too many");
    assert!(notes.iter().any(|note| note.contains("back and forth")), "{notes:?}");
}
