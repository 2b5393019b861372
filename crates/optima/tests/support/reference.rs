//! Reads the measured tables and reference solutions of `../shared/pbbcache`, where they are there. They are not part of the project.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    dead_code
)]

use isobar_partition::{Profile, Row};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file of the reference data, or `None` (told loudly).
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
    let text = reference("metrics.csv")?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut rows: BTreeMap<String, BTreeMap<usize, Row>> = BTreeMap::new();
    for record in reader.deserialize::<BTreeMap<String, String>>() {
        let record = record.unwrap();
        let figure = |key: &str| record[key].parse::<f64>().unwrap();
        let row = Row {
            ipc: figure("ipc"),
            llcmpki: figure("llcmpki"),
            llcmpkc: figure("llcmpkc"),
            bandwidth_mbps: figure("bandwidth_mbps"),
            stalls_total: figure("stalls_total"),
            stalls_l3_miss: figure("stalls_l3_miss"),
            stalls_store_buf: figure("stalls_store_buf"),
        };
        rows.entry(record["BENCH"].clone()).or_default().insert(record["NR_WAYS"].parse().unwrap(), row);
    }
    let made = |(name, rows): (String, BTreeMap<usize, Row>)| {
        let profile = Profile::new(&name, rows.into_values().collect()).unwrap();
        (name, profile)
    };
    Some(rows.into_iter().map(made).collect())
}

/// The 687 reference solutions.
pub fn vectors() -> Option<Vec<Value>> {
    Some(serde_json::from_str(&reference("vectors.json")?).unwrap())
}
