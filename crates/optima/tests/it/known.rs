//! Known optima: computed by hand, or by PBBCache's own exact searches. Also tests other behaviour
//! of a search.

use crate::support::random::{Random, Shape, workload};
use crate::support::reference;
use isobar_model::profile::{Profile, Row};
use isobar_optima::{
    Objective, OptimaError, Optimum, Options, best_map, opt_cluster, opt_map, opt_map_then_part, opt_part, optimal,
};
use isobar_partition::evaluate::evaluate;
use isobar_partition::model::{Bandwidth, Effect, Meaningless, PbbCache, StaticModel};
use isobar_partition::{Cluster, Group};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn close(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() < within, "{a} is not {b}");
}

fn program(name: &str, ipc: [f64; 3]) -> Profile {
    let row = |ipc| Row { ipc, llcmpkc: 10.0, ..Row::default() };
    Profile::new(name, ipc.map(row).to_vec()).unwrap()
}

/// Three programs x with slowdowns 2, 1, 1 at 1, 2, 3 ways, and one program y with 1.2, 1.2, 1.
/// There are two groups of 2 cores and 3 ways, no bandwidth limit, and equal misses. Every mapping
/// is {x, x}, {x, y}. {x, x} share their group with 1.5 ways each: 1.5 and 1.5 (apart: 2 and 1).
/// {x, y} by itself is fairest with 2 ways for x and 1 for y: 1 and 1.2. But then the overall ratio
/// is 1.5 to 1. If x and y share, they have 1.5 and 1.2. This is less fair between the two and
/// fairer over all programs: 1.5 / 1.2 = 1.25.
#[test]
fn the_joint_optimum_is_not_every_groups_own_by_hand() {
    let x = || program("x", [1.0, 2.0, 2.0]);
    let model = PbbCache::new(Bandwidth::Simple, vec![x(), program("y", [5.0, 5.0, 6.0]), x(), x()], 3, None);
    let options = Options { groups: 2, cores: Some(2), ..Options::new(Objective::Unfairness) };
    let joint = optimal(&model, &options).unwrap();
    close(joint.evaluation.summary.unfairness, 1.25, 1e-12);
    let alone = |names: [usize; 2]| {
        let programs = names.map(|name| model.programs()[name].clone()).to_vec();
        let model = PbbCache::new(Bandwidth::Simple, programs, 3, None);
        opt_cluster(&model, &Options::new(Objective::Unfairness)).unwrap().evaluation
    };
    let (own, other) = (alone([0, 1]), alone([2, 3]));
    close(own.summary.unfairness, 1.2, 1e-12);
    close(other.summary.unfairness, 1.0, 1e-12);
    let slowdowns: Vec<f64> = own.effects.iter().chain(&other.effects).map(|effect| effect.slowdown).collect();
    close(slowdowns.iter().copied().fold(0.0, f64::max) / slowdowns.iter().copied().fold(9.0, f64::min), 1.5, 1e-12);
    let parted = opt_map_then_part(&model, &options).unwrap();
    close(parted.evaluation.summary.unfairness, 1.25, 1e-12);
}

fn workload_of(names: &[&str]) -> Option<Vec<Profile>> {
    let profiles = reference::profiles()?;
    Some(names.iter().map(|name| profiles[*name].clone()).collect())
}

#[test]
fn a_joint_optimum_that_separate_ones_miss() {
    let names = ["astar06", "lbm06", "perlbmk00", "zeusmp06", "cactusADM06", "gap00", "perlbench06", "GemsFDTD06"];
    let Some(programs) = workload_of(&names) else { return };
    let model = PbbCache::new(Bandwidth::Simple, programs, 11, Some(6000.0));
    let options = Options { groups: 2, cores: Some(4), ..Options::new(Objective::Unfairness) };
    let got = optimal(&model, &options).unwrap();
    close(got.evaluation.summary.unfairness, 1.046_258_043_4, 1e-9);
    assert!(got.proved_optimal);
}

#[test]
fn the_timed_workload() {
    let Some(text) = reference::reference("timed8.csv") else { return };
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let model = PbbCache::new(Bandwidth::Simple, workload_of(&names).unwrap(), 11, Some(20_000.0));
    let got = opt_cluster(&model, &Options::new(Objective::Unfairness)).unwrap();
    close(got.evaluation.summary.unfairness, 1.356_486_5, 1e-7);
    close(got.evaluation.summary.stp, 6.622_349_5, 1e-7);
    let mut shape: Vec<(usize, usize)> =
        got.solution.groups[0].iter().map(|cluster| (cluster.programs.len(), cluster.ways)).collect();
    shape.sort_unstable();
    assert_eq!(shape, vec![(1, 2), (1, 4), (1, 4), (5, 1)]);
}

/// PBBCache's recorded optima: ours are never worse, and equal in the figure that both optimise.
#[test]
fn recorded_optima() {
    let (Some(vectors), Some(profiles)) = (reference::vectors(), reference::profiles()) else { return };
    let mut checked = 0;
    for (index, record) in vectors.iter().enumerate() {
        let algorithm = record["algorithm"].as_str().unwrap();
        let (objective, clusters) = match algorithm {
            "opt-unf" => (Objective::Unfairness, false),
            "opt-stp" => (Objective::Throughput, false),
            "optc-unf" => (Objective::Unfairness, true),
            _ => continue,
        };
        let apps = record["apps"].as_array().unwrap();
        let programs = apps.iter().map(|app| profiles[app["app"].as_str().unwrap()].clone()).collect();
        let model = PbbCache::new(Bandwidth::Simple, programs, 11, record["max_bandwidth_mbps"].as_f64());
        let search = if clusters { opt_cluster } else { opt_part };
        let got = search(&model, &Options::new(objective)).unwrap().evaluation.summary;
        let figure = |key: &str| record[key].as_f64().unwrap();
        match objective {
            Objective::Unfairness => {
                assert!(got.unfairness <= figure("unfairness") + 1e-6, "record {index} {algorithm}: {got:?}");
            }
            Objective::Throughput => assert!(got.stp >= figure("stp") - 1e-6, "record {index} {algorithm}: {got:?}"),
        }
        checked += 1;
    }
    assert_eq!(checked, 36 + 36 + 14);
}

fn generated(programs: usize, seed: u64) -> PbbCache {
    let workload = workload(&mut Random(seed), programs, 11, Shape::Falling);
    PbbCache::new(Bandwidth::Simple, workload, 11, Some(12_000.0))
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    for seed in 0..6 {
        let (apart, one) = (generated(8, seed), generated(7, seed));
        let options = Options { groups: 2, cores: Some(4), ..Options::new(Objective::Unfairness) };
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (optimal(&apart, &options).unwrap(), opt_cluster(&one, &options).unwrap()))
        };
        let (a, b) = (with(1), with(5));
        assert_eq!((a.0.solution, a.0.evaluation), (b.0.solution, b.0.evaluation));
        assert_eq!((a.1.solution, a.1.evaluation), (b.1.solution, b.1.evaluation));
    }
}

/// Stops after n checks, for every n: the result is always a solution, and its bound is never
/// wrong.
#[test]
fn a_search_may_be_stopped_at_any_time() {
    for (groups, model) in [(2, generated(8, 11)), (1, generated(7, 11)), (2, generated(8, 11).uma(true))] {
        for objective in [Objective::Unfairness, Objective::Throughput] {
            let plain = Options { groups, cores: Some(8 / groups), ..Options::new(objective) };
            let best = optimal(&model, &plain).unwrap();
            assert!(best.proved_optimal);
            let mut finished = false;
            for allowed in [0, 1, 2, 3, 5, 8, 20, 50, 100, 1000, 10_000_000] {
                let asked = AtomicU64::new(0);
                let stop = || asked.fetch_add(1, Ordering::Relaxed) >= allowed;
                let got = optimal(&model, &Options { stop: &stop, ..plain }).unwrap();
                finished |= got.proved_optimal;
                sound(&model, objective, &got, &best);
            }
            assert!(finished);
        }
    }
}

fn sound(model: &dyn StaticModel, objective: Objective, got: &Optimum, best: &Optimum) {
    got.solution.validate(model.programs().len(), model.ways()).unwrap();
    assert_eq!(got.evaluation, evaluate(model, &got.solution).unwrap());
    let (got_summary, best_summary) = (got.evaluation.summary, best.evaluation.summary);
    if got.proved_optimal {
        assert_eq!(got.solution, best.solution);
    }
    // The sign makes less better for both objectives.
    let sign = objective.of(1.0, -1.0);
    let [bound, best, found] = [
        got.bound,
        objective.of(best_summary.unfairness, best_summary.stp),
        objective.of(got_summary.unfairness, got_summary.stp),
    ]
    .map(|figure| sign * figure);
    let rounding = best.abs() * 1e-9;
    assert!(bound <= best + rounding && found >= best - rounding, "{got:?}");
}

#[test]
fn progress_ends_where_the_answer_is() {
    let model = generated(7, 5);
    let reports = Mutex::new(Vec::new());
    let progress = |progress: isobar_optima::Progress| reports.lock().unwrap().push(progress);
    let options = Options { progress: &progress, ..Options::new(Objective::Unfairness) };
    let got = opt_cluster(&model, &options).unwrap();
    let last = *reports.lock().unwrap().last().unwrap();
    close(last.best, got.evaluation.summary.unfairness, 1e-12);
    close(last.gap(), 0.0, 1e-9);
    assert!(got.nodes_explored > 0);
}

/// Properties that must hold for any numbers, on instances too large to enumerate.
#[test]
fn laws() {
    for seed in 0..8 {
        let workload = workload(&mut Random(seed), 9, 8, Shape::Falling);
        let renamed: Vec<Profile> = (0..9).map(|place| workload[place * 4 % 9].clone()).collect();
        let limit = Some(4000.0);
        let of = |programs: Vec<Profile>| PbbCache::new(Bandwidth::Simple, programs, 8, limit);
        for objective in [Objective::Unfairness, Objective::Throughput] {
            let options = Options { groups: 3, cores: Some(3), ..Options::new(objective) };
            let (model, other) = (of(workload.clone()), of(renamed.clone()));
            let best = optimal(&model, &options).unwrap().evaluation.summary;
            let again = optimal(&other, &options).unwrap().evaluation.summary;
            close(best.unfairness, again.unfairness, 1e-9);
            close(best.stp, again.stp, 1e-9);
            let parted = opt_map_then_part(&model, &options).unwrap().evaluation.summary;
            let mapped = opt_map(&model, &options).unwrap().evaluation.summary;
            let figure = |summary: &isobar_model::metrics::Summary| match objective {
                Objective::Unfairness => summary.unfairness,
                Objective::Throughput => -summary.stp,
            };
            assert!(figure(&best) <= figure(&parted) + 1e-9 && figure(&parted) <= figure(&mapped) + 1e-9);
            let roomy = Options { cores: Some(4), ..options };
            let freer = optimal(&model, &roomy).unwrap().evaluation.summary;
            assert!(figure(&freer) <= figure(&best) + 1e-9);
        }
    }
}

#[test]
fn a_heuristic_is_asked_once_per_set_and_held_to_its_question() {
    let model = generated(6, 3);
    let asked = Mutex::new(Vec::new());
    let share = |programs: &[usize]| {
        asked.lock().unwrap().push(programs.to_vec());
        vec![Cluster { programs: programs.to_vec(), ways: 11 }]
    };
    for (groups, model) in [(2, model.clone()), (2, model.clone().uma(true))] {
        let options = Options { groups, cores: Some(3), ..Options::new(Objective::Unfairness) };
        let got = best_map(&model, &options, &share).unwrap();
        assert_eq!(got.solution, opt_map(&model, &options).unwrap().solution);
        let mut sets = std::mem::take(&mut *asked.lock().unwrap());
        let all = sets.len();
        sets.sort();
        sets.dedup();
        assert_eq!(all, sets.len());
        let wrong = |_: &[usize]| vec![Cluster { programs: vec![0], ways: 11 }];
        let said = best_map(&model, &options, &wrong).unwrap_err().to_string();
        assert!(said.contains("it must contain each program once"), "{said}");
    }
}

/// A model that offers only the required interface.
struct Opaque(PbbCache);

impl StaticModel for Opaque {
    fn name(&self) -> &'static str {
        "opaque"
    }
    fn programs(&self) -> &[Profile] {
        self.0.programs()
    }
    fn ways(&self) -> usize {
        self.0.ways()
    }
    fn shared_controller(&self) -> bool {
        self.0.shared_controller()
    }
    fn effects(&self, groups: &[Group]) -> Result<Vec<Effect>, Meaningless> {
        self.0.effects(groups)
    }
    fn least_slowdown(&self, program: usize, ways: usize) -> f64 {
        self.0.least_slowdown(program, ways)
    }
}

#[test]
fn a_model_that_cannot_be_taken_apart_has_the_same_optima() {
    for seed in 0..4 {
        for uma in [false, true] {
            let workload = workload(&mut Random(seed), 5, 4, Shape::Wild);
            let open = PbbCache::new(Bandwidth::Simple, workload, 4, Some(9000.0)).uma(uma);
            let opaque = Opaque(open.clone());
            for objective in [Objective::Unfairness, Objective::Throughput] {
                let options = Options { groups: 2, cores: Some(3), ..Options::new(objective) };
                assert_eq!(optimal(&open, &options).unwrap().solution, optimal(&opaque, &options).unwrap().solution);
                let (a, b) = (opt_cluster(&open, &options), opt_cluster(&opaque, &options));
                assert_eq!(a.unwrap().solution, b.unwrap().solution);
            }
        }
    }
}

#[test]
fn what_has_no_answer_is_said_in_one_line() {
    let model = generated(6, 1);
    let options = Options::new(Objective::Unfairness);
    let said = |options: &Options<'_>| optimal(&model, options).unwrap_err().to_string();
    let small = Options { groups: 2, cores: Some(2), ..options };
    assert_eq!(said(&small), "6 programs do not fit 2 groups of 2 cores; give more groups or cores");
    let none = PbbCache::new(Bandwidth::Simple, Vec::new(), 4, None);
    assert_eq!(optimal(&none, &options), Err(OptimaError::NoPrograms));
    let few = PbbCache::new(Bandwidth::Simple, workload(&mut Random(1), 5, 3, Shape::Wild), 3, None);
    assert_eq!(opt_part(&few, &options), Err(OptimaError::TooFewWays { programs: 5, ways: 3 }));
    // One program that would take more than the available bandwidth: no solution has a meaning
    // under the stalls model.
    let greedy = Profile::new("greedy", vec![Row { ipc: 1.0, bandwidth_mbps: 100.0, ..Row::default() }]).unwrap();
    let hopeless = PbbCache::new(Bandwidth::Stalls, vec![greedy.clone(), greedy], 2, Some(50.0));
    for options in [options, Options { groups: 2, cores: Some(1), ..options }] {
        assert!(optimal(&hopeless, &options).unwrap_err().to_string().contains("`greedy` alone would take all"));
    }
}
