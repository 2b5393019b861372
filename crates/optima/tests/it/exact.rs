//! Compares every search with an independent enumeration, on thousands of small instances.

use crate::support::brute::{self, Judged, Rule};
use crate::support::random::{Random, Shape, model, workload};
use isobar_optima::{Objective, OptimaError, Optimum, Options, best_map, opt_cluster, opt_map, opt_part, optimal};
use isobar_partition::evaluate::evaluate;
use isobar_partition::model::{Bandwidth, PbbCache, StaticModel};
use isobar_partition::{Cluster, Group};

const BOTH: [Objective; 2] = [Objective::Unfairness, Objective::Throughput];

fn same(what: &str, model: &dyn StaticModel, got: Result<Optimum, OptimaError>, want: Option<Judged>) {
    let Some(want) = want else {
        assert!(matches!(got, Err(OptimaError::NoMeaning(_))), "{what}: {got:?}");
        return;
    };
    let got = got.unwrap_or_else(|error| panic!("{error}: {what}"));
    let figures = (got.evaluation.summary.unfairness, got.evaluation.summary.stp);
    assert_eq!(got.solution, want.solution, "{what}: {figures:?} for {:?}", (want.unfairness, want.stp));
    assert!(got.proved_optimal, "{what}");
    assert_eq!(got.evaluation, evaluate(model, &got.solution).unwrap(), "{what}");
}

#[test]
fn one_llc() {
    let mut random = Random(1);
    for round in 0..700 {
        let (programs, ways) = (random.between(1, 5), random.between(2, 6));
        let model = model(&mut random, programs, ways, round % 2 == 0);
        let all = |rule| brute::all(&model, 1, programs, &|set| brute::groups(set, ways, rule));
        for objective in BOTH {
            let what = |name: &str| format!("{name} {round} {objective:?} {model:?}");
            let options = Options::new(objective);
            same(&what("cluster"), &model, opt_cluster(&model, &options), brute::best(all(Rule::Any), objective));
            if programs <= ways {
                same(&what("part"), &model, opt_part(&model, &options), brute::best(all(Rule::Alone), objective));
            }
        }
    }
}

fn groups(uma: bool, rounds: u64, seed: u64) {
    let mut random = Random(seed);
    for round in 0..rounds {
        let (programs, ways) = (random.between(2, 6), random.between(2, 4));
        let ways = if uma && programs > 5 { ways.min(3) } else { ways };
        let groups = random.between(2, 3);
        let cores = random.between(programs.div_ceil(groups), 3.max(programs.div_ceil(groups)));
        let model = model(&mut random, programs, ways, uma);
        let halves = |set: &[usize]| half(set, ways);
        for objective in BOTH {
            let what = |name: &str| format!("{name} {round} {objective:?} {groups} x {cores} {model:?}");
            let options = Options { groups, cores: Some(cores), ..Options::new(objective) };
            let best = |choices: &dyn Fn(&[usize]) -> Vec<Group>| {
                brute::best(brute::all(&model, groups, cores, choices), objective)
            };
            let any = best(&|set| brute::groups(set, ways, Rule::Any));
            same(&what("optimal"), &model, optimal(&model, &options), any);
            let whole = best(&|set| brute::groups(set, ways, Rule::Whole));
            same(&what("map"), &model, opt_map(&model, &options), whole);
            let given = best(&|set| vec![halves(set)]);
            same(&what("best-map"), &model, best_map(&model, &options, &halves), given);
        }
    }
}

/// A simple heuristic: the first program is separated from the others.
fn half(set: &[usize], ways: usize) -> Group {
    match set {
        [_] => vec![Cluster { programs: set.to_vec(), ways }],
        [first, rest @ ..] => {
            vec![Cluster { programs: vec![*first], ways: 1 }, Cluster { programs: rest.to_vec(), ways: ways - 1 }]
        }
        [] => Vec::new(),
    }
}

#[test]
fn groups_apart() {
    groups(false, 250, 2);
}

#[test]
fn groups_that_share_a_controller() {
    groups(true, 60, 3);
}

/// Slowdowns that differ by less than a tie: the search treats their levels as one, and an
/// enumeration does not.
#[test]
fn levels_within_a_tie() {
    let mut random = Random(4);
    for round in 0..120 {
        let (programs, ways) = (random.between(3, 6), random.between(3, 4));
        let workload = workload(&mut random, programs, ways, Shape::Crowded);
        let model = PbbCache::new(Bandwidth::Simple, workload, ways, None);
        let cores = programs.div_ceil(2);
        let any = brute::all(&model, 2, cores, &|set| brute::groups(set, ways, Rule::Any));
        for objective in BOTH {
            let options = Options { groups: 2, cores: Some(cores), ..Options::new(objective) };
            let what = format!("{round} {objective:?} {model:?}");
            same(&what, &model, optimal(&model, &options), brute::best(any.clone(), objective));
        }
    }
}
