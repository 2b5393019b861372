//! PBBCache's own solutions evaluated by our models: every slowdown and every measure must agree to
//! 1e-6.

use isobar_model::Profile;
use isobar_partition::evaluate::evaluate;
use serde_json::Value;
use std::collections::BTreeMap;

const CLOSE: f64 = 1e-6;

#[test]
fn every_reference_solution_comes_out() {
    let (Some(profiles), Some(vectors)) = (crate::support::profiles(), crate::support::vectors()) else { return };
    assert!(vectors.len() >= 687, "{} records", vectors.len());
    for (index, record) in vectors.iter().enumerate() {
        check(index, record, &profiles);
    }
}

fn check(index: usize, record: &Value, profiles: &BTreeMap<String, Profile>) {
    let apps = record["apps"].as_array().unwrap();
    let model = crate::support::model(record, profiles);
    let solution = crate::support::solution(record);
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
