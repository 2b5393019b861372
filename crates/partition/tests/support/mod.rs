//! Reads the measured tables and reference solutions of `../shared/pbbcache`, if available. They
//! are not part of the project.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    dead_code
)]

use isobar_model::num;
use isobar_model::profile::{Profile, Property};
use isobar_partition::model::{Bandwidth, PbbCache};
use isobar_partition::{Cluster, Solution};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file of the reference data, or `None` with a line that says that it is missing.
pub fn reference(file: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/pbbcache").join(file);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("SKIPPED: {file} of the reference data is not here; only our own fixtures are checked");
    }
    text
}

/// The 55 measured programs, by name.
pub fn profiles() -> Option<BTreeMap<String, Profile>> {
    Some(isobar_profiles::table::read("metrics.csv", &reference("metrics.csv")?).unwrap())
}

/// The 687 reference solutions.
pub fn vectors() -> Option<Vec<Value>> {
    Some(serde_json::from_str(&reference("vectors.json")?).unwrap())
}

/// The model of a record.
pub fn model(record: &Value, profiles: &BTreeMap<String, Profile>) -> PbbCache {
    let apps = record["apps"].as_array().unwrap();
    let programs = apps.iter().map(|app| profiles[app["app"].as_str().unwrap()].clone()).collect();
    let kind = if record["model"] == "pbbcache-stalls" { Bandwidth::Stalls } else { Bandwidth::Simple };
    // PBBCache's `whirlpool` splits shared ways by misses per instruction, all other algorithms by
    // misses per cycle.
    let misses = if record["algorithm"] == "whirlpool" { Property::Llcmpki } else { Property::Llcmpkc };
    let model = PbbCache::new(kind, programs, 11, record["max_bandwidth_mbps"].as_f64());
    model.shared_by(misses).uma(record["topology"] == "uma")
}

/// The solution of a record.
pub fn solution(record: &Value) -> Solution {
    let apps = record["apps"].as_array().unwrap();
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
