#[allow(dead_code)]
#[path = "../../../optima/tests/support/brute.rs"]
mod brute;

use super::*;
use isobar_model::num;
use isobar_model::profile::Row;
use isobar_model::{Action, CpuId, LlcId, Machine, NodeId, Plan, Seconds, Tid, metrics};
use isobar_optima::{Objective, Options, opt_cluster, opt_map, optimal};
use isobar_partition::evaluate::evaluate;
use isobar_partition::{Cluster, Solution};
use isobar_sim::{App, Run, SimMachine, Workload, machine, program};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::slice::from_ref;

const FOUR: [&str; 4] = ["mcf", "lbm", "povray", "milc"];

fn programs(names: &[&str]) -> Vec<Arc<Program>> {
    let library = program::shipped().unwrap();
    names.iter().map(|name| library.find("test", "program", name).unwrap()).collect()
}

fn model(names: &[&str], max_bandwidth: Option<f64>) -> Queueing {
    let row = Row { ipc: 1.0, ..Row::default() };
    let profiles = names.iter().map(|name| Profile::new(name, vec![row; 16]).unwrap()).collect();
    Queueing::new(&machine::find("rome-ccx-2x4").unwrap(), &programs(names), profiles, 16, max_bandwidth)
}

fn cluster(programs: &[usize], ways: usize) -> Cluster {
    Cluster { programs: programs.to_vec(), ways }
}

fn slowdowns(model: &Queueing, groups: &[Group]) -> Vec<f64> {
    model.effects(groups).unwrap().iter().map(|effect| effect.slowdown).collect()
}

#[test]
fn alone_with_all_ways_nothing_is_slowed_down() {
    let model = model(&FOUR, None);
    for program in 0..FOUR.len() {
        let alone = model.effects(&[vec![cluster(&[program], 16)]]).unwrap()[0];
        assert!(
            (alone.slowdown - 1.0).abs() < 1e-9 && (alone.slowdown_without_bandwidth - 1.0).abs() < 1e-9,
            "{alone:?}"
        );
    }
}

#[test]
fn fewer_ways_more_neighbours_and_less_bandwidth_never_help() {
    let groups = vec![vec![cluster(&[0], 4), cluster(&[1, 2, 3], 12)]];
    let by_bandwidth: Vec<_> = [40e3, 20e3, 10e3, 5e3]
        .iter()
        .map(|mbps| evaluate(&model(&FOUR, Some(*mbps)), &Solution { groups: groups.clone() }).unwrap())
        .collect();
    // Relative to the same program alone, which lower bandwidth slows down, too.
    let seconds = |mbps: f64| {
        let model = model(&FOUR, Some(mbps));
        let alone: Vec<f64> = model.alone.iter().map(|paces| paces[15].seconds).collect();
        slowdowns(&model, &groups)
            .iter()
            .zip([0, 1, 2, 3])
            .map(|(slow, program)| slow * alone[program])
            .collect::<Vec<_>>()
    };
    for pair in [40e3, 20e3, 10e3, 5e3].windows(2) {
        assert!(
            seconds(pair[0]).iter().zip(seconds(pair[1])).all(|(wide, narrow)| *wide <= narrow * (1.0 + 1e-7)),
            "{pair:?}"
        );
    }
    assert!(by_bandwidth[3].summary.antt > by_bandwidth[0].summary.antt);
    let model = model(&FOUR, Some(10e3));
    for program in 0..4 {
        for ways in 1..=16 {
            let least = model.least_slowdown(program, ways);
            let alone = slowdowns(&model, &[vec![cluster(&[program], ways)]])[0];
            assert!(least <= alone && least > alone * (1.0 - 1e-6), "{program} {ways}: {least} {alone}");
        }
        let others: Vec<usize> = (0..4).filter(|other| *other != program).collect();
        let shared = slowdowns(&model, &[vec![cluster(&[program], 5), cluster(&others, 11)]])[0];
        assert!(shared >= model.least_slowdown(program, 5));
    }
}

#[test]
fn groups_do_not_depend_on_each_other_unless_they_share_a_controller() {
    let (one, other) = (vec![cluster(&[0], 6), cluster(&[1], 10)], vec![cluster(&[2, 3], 16)]);
    let own = model(&FOUR, Some(8e3));
    let alone = [own.effects(from_ref(&one)).unwrap(), own.effects(from_ref(&other)).unwrap()].concat();
    assert_eq!(own.effects(&[one.clone(), other.clone()]).unwrap(), alone);
    let shared = model(&FOUR, Some(8e3)).uma(true);
    let together = shared.effects(&[one, other]).unwrap();
    assert!(together.iter().zip(&alone).all(|(both, own)| both.slowdown >= own.slowdown * (1.0 - 1e-9)));
    assert!(
        together[1].slowdown > 1.05 * alone[1].slowdown,
        "lbm shares the controller with milc: {together:?} {alone:?}"
    );
}

#[test]
fn the_part_of_the_cache_is_never_more_than_all() {
    let model = model(&FOUR, Some(6e3));
    let effects = model.effects(&[vec![cluster(&[0, 1, 2], 9), cluster(&[3], 7)]]).unwrap();
    assert!(
        effects.iter().all(|effect| effect.slowdown_without_bandwidth <= effect.slowdown * (1.0 + 1e-9)),
        "{effects:?}"
    );
    assert!(effects.iter().all(|effect| effect.slowdown_without_bandwidth >= 1.0 - 1e-9), "{effects:?}");
}

/// Slowdowns of programs in the given clusters on the cores of one node of the simulated machine.
/// Each program is started there, with its memory.
fn simulated(names: &[&str], clusters: &[Cluster]) -> Vec<f64> {
    let spec = Arc::new(machine::find("rome-ccx-2x4").unwrap());
    let app = |(index, program): (usize, &Arc<Program>)| App {
        cgroup: None,
        name: program.name.clone(),
        program: Arc::new(Program { phase: Vec::new(), touch_share: 0.0, ..Program::clone(program) }),
        threads: 1,
        start_node: None,
        pinned: false,
        cpu: Some(CpuId(u32::try_from(index).unwrap())),
        memory_node: Some(NodeId(0)),
        spread: Vec::new(),
        phase_offset: 0.0,
        seats: None,
        job: None,
    };
    let apps = programs(names).iter().enumerate().map(app).collect();
    let run = Run { runs: 1000, ..Run::default() };
    let mut sim = SimMachine::new(&Workload { machine: spec, apps, run }, 1);
    let first = sim.sample().unwrap();
    let tids: Vec<Tid> = first.processes.iter().map(|process| process.threads[0].tid).collect();
    let mut actions = Vec::new();
    for (cluster, mask) in clusters.iter().zip(Solution::way_masks(&clusters.to_vec())) {
        actions.push(set_ways(mask, cluster.programs.iter().map(|program| tids[*program]).collect()));
    }
    let outcome = sim.apply(&Plan { policy: "test".to_owned(), actions, ..Plan::default() });
    assert!(outcome.is_ok(), "{outcome:?}");
    sim.wait(Seconds(1.0)).unwrap();
    let before = sim.sample().unwrap();
    sim.wait(Seconds(1.0)).unwrap();
    let after = sim.sample().unwrap();
    let done = |sample: &isobar_model::Sample| -> BTreeMap<Tid, u64> {
        let threads = sample.processes.iter().flat_map(|process| &process.threads);
        threads.map(|thread| (thread.tid, thread.counters.instructions.unwrap().value)).collect()
    };
    let (before, after) = (done(&before), done(&after));
    tids.iter().map(|tid| 1.0 / num::float(after[tid] - before[tid])).collect()
}

fn set_ways(mask: u64, threads: Vec<Tid>) -> Action {
    Action::SetWays {
        llc: LlcId(0),
        cluster: format!("c{mask:x}"),
        way_mask: mask,
        threads: threads.into_iter().collect(),
        memory_bandwidth_percent: None,
        reason: "test".to_owned(),
    }
}

/// The simulated machine, stepped until it is steady, ends at the values that this model finds at
/// once.
#[test]
fn a_running_machine_converges_to_it() {
    let names = ["mcf", "lbm", "omnetpp", "milc"];
    let model = model(&names, None);
    for clusters in [
        vec![cluster(&[0, 1, 2, 3], 16)],
        vec![cluster(&[0], 7), cluster(&[1, 3], 2), cluster(&[2], 7)],
        vec![cluster(&[0, 2], 11), cluster(&[1], 2), cluster(&[3], 3)],
    ] {
        let effects = model.effects(from_ref(&clusters)).unwrap();
        let order: Vec<usize> = clusters.iter().flat_map(|cluster| cluster.programs.clone()).collect();
        let here = simulated(&names, &clusters);
        let mut ours = vec![0.0; names.len()];
        for (program, effect) in order.iter().zip(&effects) {
            ours[*program] = effect.slowdown;
        }
        for (index, name) in names.iter().enumerate() {
            let theirs = here[index] / model.alone[index][15].seconds;
            assert!((ours[index] / theirs - 1.0).abs() < 1e-3, "{name}: {} {theirs}", ours[index]);
        }
        assert!(metrics::summary(&ours).unwrap().unfairness > 1.0);
    }
}

/// Clusters of six programs: which programs share a cluster, and how many of 16 ways each cluster
/// has.
fn any_group() -> impl Strategy<Value = Group> {
    prop::collection::vec((0..4_usize, 1..5_usize), 6).prop_map(|drawn| {
        let mut group: Vec<Cluster> = Vec::new();
        for label in 0..4 {
            let programs: Vec<usize> = (0..6).filter(|program| drawn[*program].0 == label).collect();
            if let Some(first) = programs.first() {
                group.push(Cluster { ways: drawn[*first].1, programs });
            }
        }
        group
    })
}

proptest! {
    #[test]
    fn any_group_keeps_the_laws(group in any_group(), mbps in 1e3..60e3f64) {
        let names = ["mcf", "lbm", "povray", "milc", "omnetpp", "gobmk"];
        let model = model(&names, Some(mbps));
        let effects = model.effects(from_ref(&group)).unwrap();
        let order: Vec<usize> = group.iter().flat_map(|cluster| cluster.programs.clone()).collect();
        let ways: Vec<usize> = group.iter().flat_map(|one| vec![one.ways; one.programs.len()]).collect();
        for ((program, ways), effect) in order.iter().zip(ways).zip(&effects) {
            prop_assert!(effect.slowdown >= model.least_slowdown(*program, ways), "{} {:?}", names[*program], effect);
            prop_assert!(effect.slowdown_without_bandwidth <= effect.slowdown * (1.0 + 1e-7), "{:?}", effect);
        }
        // The order of clusters is only a matter of names.
        let turned: Group = group.iter().rev().cloned().collect();
        let again = model.effects(from_ref(&turned)).unwrap();
        let back: Vec<usize> = turned.iter().flat_map(|cluster| cluster.programs.clone()).collect();
        for (program, effect) in order.iter().zip(&effects) {
            let place = back.iter().position(|other| other == program).unwrap();
            prop_assert!((again[place].slowdown / effect.slowdown - 1.0).abs() < 1e-7);
        }
    }
}

/// Compares the exact searches with an independent enumeration: on one LLC, and on two with one
/// controller each or one for both.
#[test]
fn searches_find_what_an_enumeration_finds() {
    let all = ["mcf", "lbm", "povray", "milc", "omnetpp", "gobmk", "mcf", "soplex"];
    for round in 0..8 {
        let names: Vec<&str> = (0..4 + round % 2).map(|index| all[(3 * round + index) % all.len()]).collect();
        let ways = 3 + round % 3;
        let row = Row { ipc: 1.0, ..Row::default() };
        let profiles = names.iter().map(|name| Profile::new(name, vec![row; ways]).unwrap()).collect();
        let mbps = [None, Some(9e3), Some(3e3)][round % 3];
        let spec = machine::find("rome-ccx-2x4").unwrap();
        let model = Queueing::new(&spec, &programs(&names), profiles, ways, mbps).uma(round % 4 < 3);
        for objective in Objective::ALL {
            let (cores, any) = (names.len().div_ceil(2), |set: &[usize]| brute::groups(set, ways, brute::Rule::Any));
            let options = Options { groups: 2, cores: Some(cores), ..Options::new(objective) };
            let best = |groups, cores, choices: &dyn Fn(&[usize]) -> Vec<Group>| {
                brute::best(brute::all(&model, groups, cores, choices), objective).unwrap().solution
            };
            let of = |found: Result<isobar_optima::Optimum, _>| {
                let found = found.unwrap();
                assert!(found.proved_optimal);
                found.solution
            };
            let what = format!("{round} {objective:?}");
            assert_eq!(of(optimal(&model, &options)), best(2, cores, &any), "{what}");
            let whole = |set: &[usize]| brute::groups(set, ways, brute::Rule::Whole);
            assert_eq!(of(opt_map(&model, &options)), best(2, cores, &whole), "{what}");
            assert_eq!(of(opt_cluster(&model, &Options::new(objective))), best(1, names.len(), &any), "{what}");
        }
    }
}
