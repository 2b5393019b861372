//! PBBCache's own solutions, evaluated by our models: every slowdown and every measure, to 1e-6.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use isobar_model::num;
use isobar_partition::evaluate::evaluate;
use isobar_partition::model::{Bandwidth, PbbCache};
use isobar_partition::{Cluster, Profile, Property, Solution};
use serde_json::Value;
use std::collections::BTreeMap;

const CLOSE: f64 = 1e-6;

#[test]
fn every_reference_solution_comes_out() {
    let (Some(profiles), Some(vectors)) = (support::profiles(), support::vectors()) else { return };
    assert!(vectors.len() >= 687, "{} records", vectors.len());
    for (index, record) in vectors.iter().enumerate() {
        check(index, record, &profiles);
    }
}

fn check(index: usize, record: &Value, profiles: &BTreeMap<String, Profile>) {
    let apps = record["apps"].as_array().unwrap();
    let model = model(record, apps.iter().map(|app| profiles[app["app"].as_str().unwrap()].clone()).collect());
    let solution = solution(apps);
    solution.validate(apps.len(), 11).unwrap();
    let got = evaluate(&model, &solution).unwrap_or_else(|error| panic!("record {index}: {error}"));
    let close = |what: &str, ours: f64, theirs: &Value| {
        let theirs = theirs.as_f64().unwrap();
        assert!((ours - theirs).abs() < CLOSE, "record {index}, {what}: {ours} against {theirs}");
    };
    for (app, effect) in apps.iter().zip(&got.effects) {
        close("slowdown", effect.slowdown, &app["slowdown"]);
        close("slowdown_without_bandwidth", effect.slowdown_without_bandwidth, &app["slowdown_without_bandwidth"]);
    }
    close("stp", got.summary.stp, &record["stp"]);
    close("unfairness", got.summary.unfairness, &record["unfairness"]);
    close("antt", got.summary.antt, &record["antt"]);
    close("cov", got.summary.unfairness_cov, &record["cov"]);
}

fn model(record: &Value, programs: Vec<Profile>) -> PbbCache {
    let kind = if record["model"] == "pbbcache-stalls" { Bandwidth::Stalls } else { Bandwidth::Simple };
    // PBBCache's `whirlpool` splits shared ways by misses per instruction, all else by misses per cycle.
    let misses = if record["algorithm"] == "whirlpool" { Property::Llcmpki } else { Property::Llcmpkc };
    let model = PbbCache::new(kind, programs, 11, record["max_bandwidth_mbps"].as_f64());
    model.shared_by(misses).uma(record["topology"] == "uma")
}

fn solution(apps: &[Value]) -> Solution {
    let number = |app: &Value, key: &str| num::index(u32::try_from(app[key].as_u64().unwrap()).unwrap());
    let mut clusters: BTreeMap<(usize, usize), Cluster> = BTreeMap::new();
    for (program, app) in apps.iter().enumerate() {
        let cluster = clusters.entry((number(app, "llc"), number(app, "cluster"))).or_default();
        cluster.programs.push(program);
        cluster.ways = number(app, "ways");
    }
    let groups = clusters.keys().map(|key| key.0).max().unwrap() + 1;
    let mut solution = Solution { groups: vec![Vec::new(); groups] };
    clusters.into_iter().for_each(|((group, _), cluster)| solution.groups[group].push(cluster));
    solution
}
