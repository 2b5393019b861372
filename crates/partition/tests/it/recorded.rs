//! Compares our heuristics with the recorded solutions of the same names. If the algorithm leaves
//! no choice they are the same; if it does, ours are no less fair on average.

use isobar_model::num;
use isobar_model::profile::{Profile, Property};
use isobar_partition::class::{ClassLimits, of_profile};
use isobar_partition::evaluate::evaluate;
use isobar_partition::heuristics::lfoc_plus::{App, Settings, partition};
use isobar_partition::heuristics::{Setting, by_name};
use isobar_partition::model::{PbbCache, StaticModel};
use isobar_partition::{Group, Solution};
use serde_json::Value;

/// A recorded solution and ours, for the same workload and model.
struct Pair {
    model: PbbCache,
    theirs: Solution,
    ours: Solution,
}

impl Pair {
    /// Unfairness of theirs and of ours; `None` if the model has no meaning for one of them.
    fn unfairness(&self) -> Option<[f64; 2]> {
        let of = |solution| Some(evaluate(&self.model, solution).ok()?.summary.unfairness);
        Some([of(&self.theirs)?, of(&self.ours)?])
    }
}

/// All records of an algorithm that pass `wanted`, with the answers of `ours`.
fn pairs(algorithm: &str, wanted: fn(&Value) -> bool, ours: fn(&PbbCache) -> Solution) -> Option<Vec<Pair>> {
    let (profiles, vectors) = (crate::support::profiles()?, crate::support::vectors()?);
    let records = vectors.iter().filter(|record| record["algorithm"] == algorithm && wanted(record));
    let pair = |record: &Value| {
        let model = crate::support::model(record, &profiles);
        Pair { theirs: crate::support::solution(record).canonical(), ours: ours(&model).canonical(), model }
    };
    Some(records.map(pair).collect())
}

fn run(name: &str, model: &PbbCache) -> Solution {
    by_name(name).unwrap().run(model, &Setting::new(1, model.programs().len())).unwrap()
}

/// Checks that our solutions are no less fair than theirs on average.
fn no_less_fair(what: &str, pairs: &[Pair]) {
    let all: Vec<[f64; 2]> = pairs.iter().filter_map(Pair::unfairness).collect();
    let mean = |which: usize| all.iter().map(|pair| pair[which]).sum::<f64>() / num::float_len(all.len());
    let [theirs, ours] = [mean(0), mean(1)];
    assert!(!all.is_empty() && ours <= theirs + 1e-9, "{what}: {ours} against {theirs}");
}

fn default(record: &Value) -> bool {
    record["options"].as_object().unwrap().is_empty()
}

#[test]
fn what_leaves_no_choice_is_the_same() {
    let all = |_: &Value| true;
    let Some(equal) = pairs("equal-part", all, |model| run("equal", model)) else { return };
    let ucp = pairs("ucp", all, |model| run("ucp", model)).unwrap();
    let slowdown = pairs("ucp-slowdown", all, |model| run("ucp-slowdown", model)).unwrap();
    for (name, pairs) in [("equal", equal), ("ucp", ucp), ("ucp-slowdown", slowdown)] {
        assert!(!pairs.is_empty());
        pairs.iter().for_each(|pair| assert_eq!(pair.ours, pair.theirs, "{name}"));
    }
}

#[test]
fn what_leaves_a_choice_is_no_less_fair() {
    let wide = |record: &Value| record["options"]["streaming_part_size"] == 2;
    let lfoc_plus = |record: &Value| record["options"]["cache_part"] == "lfoc+";
    let Some(kpart) = pairs("kpart", default, |model| run("kpart", model)) else { return };
    no_less_fair("kpart", &kpart);
    let two = pairs("lfoc+", wide, |model| run("lfoc+", model)).unwrap();
    no_less_fair("lfoc+, streaming partitions of 2 ways", &two);
    no_less_fair("lfoc+, streaming partitions of 1 way", &pairs("lfoc+", default, one_way).unwrap());
    let balanced = pairs("llc_bw_balancer", lfoc_plus, |model| run_grouped("divide-content", model)).unwrap();
    no_less_fair("divide-content", &balanced);
}

/// Runs a heuristic on groups of four, as in all records that have groups.
fn run_grouped(name: &str, model: &PbbCache) -> Solution {
    let count = model.programs().len();
    let setting = Setting { max_bandwidth: model.max_bandwidth(), ..Setting::new(count / 4, count) };
    by_name(name).unwrap().run(model, &setting).unwrap()
}

/// LFOC+ with streaming partitions of one way.
fn one_way(model: &PbbCache) -> Solution {
    fn app(profile: &Profile) -> App<'_> {
        App {
            class: of_profile(profile, ClassLimits::default()),
            slowdown: profile.column(Property::Slowdown),
            llcmpkc: profile.column(Property::Llcmpkc),
        }
    }
    let apps: Vec<App<'_>> = model.programs().iter().map(app).collect();
    let group: Group = partition(&apps, model.ways(), &Settings { ways_streaming: 1, ..Settings::default() });
    Solution { groups: vec![group] }
}
