//! Compares `isobar study --algorithm fixed` with all solutions that PBBCache itself computed,
//! through the command line.

use crate::support::{file, isobar};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const CLOSE: f64 = 1e-6;

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/pbbcache").join(name);
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// What the records of one run of the command have in common: model, limit, UMA, ways.
type Key = (String, Option<u64>, bool, u64);

fn key(record: &Value) -> Key {
    let limit = record["max_bandwidth_mbps"].as_f64().map(|mbps| {
        assert!(mbps.fract().abs() < 1e-12);
        serde_json::from_str(&format!("{mbps:.0}")).unwrap()
    });
    (record["model"].as_str().unwrap().to_owned(), limit, record["topology"] == "uma", record["ways"].as_u64().unwrap())
}

/// A record in the form that the command takes. PBBCache's `whirlpool` divides shared ways by
/// misses per instruction.
fn solution(record: &Value) -> Value {
    let column = |key: &str| record["apps"].as_array().unwrap().iter().map(|app| app[key].clone()).collect::<Vec<_>>();
    let share = if record["algorithm"] == "whirlpool" { "llcmpki" } else { "llcmpkc" };
    json!({"apps": column("app"), "llc": column("llc"), "cluster": column("cluster"), "ways": column("ways"), "share": share})
}

#[test]
fn every_recorded_solution_comes_out() {
    let (Some(profiles), Some(vectors)) = (shared("metrics.csv"), shared("vectors.json")) else { return };
    let records: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(vectors).unwrap()).unwrap();
    assert!(records.len() >= 687);
    let mut groups: BTreeMap<Key, Vec<&Value>> = BTreeMap::new();
    records.iter().for_each(|record| groups.entry(key(record)).or_default().push(record));
    for ((model, limit, uma, ways), records) in groups {
        let all: Vec<Value> = records.iter().map(|record| solution(record)).collect();
        let (_folder, solutions) = file("s.json", json!({"solutions": all}).to_string());
        let (ways, limit) = (ways.to_string(), limit.map(|mbps| mbps.to_string()));
        let mut args =
            vec!["study", "--profiles", profiles.to_str().unwrap(), "--algorithm", "fixed", "--solution", &solutions];
        args.extend(["--model", &model, "--ways", &ways, "--json"]);
        limit.iter().for_each(|mbps| args.extend(["--max-bandwidth", mbps.as_str()]));
        args.extend(uma.then_some("--uma"));
        let run = isobar(&args);
        assert_eq!(run.code, Some(0), "{}", run.err);
        let rows: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), records.len());
        rows.iter().zip(records).for_each(|(row, record)| compare(row, record));
    }
}

fn compare(row: &Value, record: &Value) {
    let close = |what: &str, ours: &Value, theirs: &Value| {
        let (ours, theirs) = (ours.as_f64().unwrap_or(f64::NAN), theirs.as_f64().unwrap());
        assert!((ours - theirs).abs() < CLOSE, "{what}: {ours} against {theirs}: {row} {record}");
    };
    for (what, theirs) in [("stp", "stp"), ("unfairness", "unfairness"), ("antt", "antt"), ("unfairness_cov", "cov")] {
        close(what, &row[what], &record[theirs]);
    }
    for (app, recorded) in row["apps"].as_array().unwrap().iter().zip(record["apps"].as_array().unwrap()) {
        assert_eq!((&app["name"], &app["llc"], &app["ways"]), (&recorded["app"], &recorded["llc"], &recorded["ways"]));
        close("slowdown", &app["slowdown"], &recorded["slowdown"]);
        close(
            "slowdown_without_bandwidth",
            &app["slowdown_without_bandwidth"],
            &recorded["slowdown_without_bandwidth"],
        );
    }
}
