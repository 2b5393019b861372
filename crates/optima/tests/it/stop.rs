//! How soon a search ends after a request to stop. It is counted in calls of the model, which
//! dominate the time, and not in seconds.

use crate::support::random::{Random, Shape, workload};
use isobar_model::profile::Profile;
use isobar_optima::{Objective, OptimaError, Optimum, Options, opt_cluster, opt_map, optimal};
use isobar_partition::Group;
use isobar_partition::model::{Bandwidth, Demand, Effect, Meaningless, PbbCache, Pressure, Separable, StaticModel};
use std::sync::atomic::{AtomicU64, Ordering};

/// A model that counts its answers.
struct Counting {
    model: PbbCache,
    answers: AtomicU64,
}

impl Counting {
    fn new(programs: usize, uma: bool) -> Self {
        let programs = workload(&mut Random(7), programs, 11, Shape::Falling);
        let model = PbbCache::new(Bandwidth::Simple, programs, 11, Some(12_000.0)).uma(uma);
        Self { model, answers: AtomicU64::new(0) }
    }

    fn count(&self) -> &PbbCache {
        self.answers.fetch_add(1, Ordering::SeqCst);
        &self.model
    }

    fn own(&self) -> &dyn Separable {
        self.model.separable().unwrap()
    }
}

impl StaticModel for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn programs(&self) -> &[Profile] {
        self.model.programs()
    }

    fn ways(&self) -> usize {
        self.model.ways()
    }

    fn shared_controller(&self) -> bool {
        self.model.shared_controller()
    }

    fn effects(&self, groups: &[Group]) -> Result<Vec<Effect>, Meaningless> {
        self.count().effects(groups)
    }

    fn least_slowdown(&self, program: usize, ways: usize) -> f64 {
        self.model.least_slowdown(program, ways)
    }

    fn separable(&self) -> Option<&dyn Separable> {
        Some(self)
    }
}

impl Separable for Counting {
    fn demands(&self, programs: &[usize], ways: usize) -> Vec<Vec<Demand>> {
        self.count();
        self.own().demands(programs, ways)
    }

    fn factors(&self, demands: &[Demand], factors: &mut [f64]) -> Result<(), usize> {
        self.count();
        self.own().factors(demands, factors)
    }

    fn pressure(&self) -> Option<&dyn Pressure> {
        self.own().pressure()
    }
}

type Search = fn(&dyn StaticModel, &Options<'_>) -> Result<Optimum, OptimaError>;

/// The number of model calls that a search makes after the request to stop, which comes after
/// `allowed` calls.
fn late(model: &Counting, search: Search, groups: usize, allowed: u64) -> u64 {
    let stop = || model.answers.load(Ordering::SeqCst) >= allowed;
    let options = Options { groups, cores: Some(16 / groups), stop: &stop, ..Options::new(Objective::Unfairness) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let found = pool.install(|| search(model, &options));
    assert!(found.is_err() || !found.unwrap().proved_optimal);
    model.answers.load(Ordering::SeqCst).saturating_sub(allowed)
}

/// Fourteen programs make 16,383 possible clusters, and each is a call of the model. Before the
/// searches checked in between whether to stop, they overran a time limit by as long as all of
/// these take. Two threads look at up to 256 groups each between two checks, and the last result is
/// evaluated once more.
#[test]
fn a_search_ends_soon_after_it_is_told_to() {
    let cases: [(Search, usize, bool); 5] =
        [(opt_cluster, 1, false), (optimal, 2, false), (optimal, 2, true), (opt_map, 2, false), (opt_map, 2, true)];
    for (number, (search, groups, uma)) in cases.into_iter().enumerate() {
        for allowed in [1, 50, 1000, 6000] {
            let late = late(&Counting::new(14, uma), search, groups, allowed);
            assert!(late <= 2 * 256 + 10, "case {number}, asked after {allowed}: {late} more");
        }
    }
}
