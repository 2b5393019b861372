//! `isobar decide`: observations in, plans out.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use support::{isobar, isobar_with, observation};

/// Super-devils, devils and turtles so that a window of one interval decides (DINO, section 3.2).
const DINO: [&str; 7] = ["decide", "--policy", "dino", "--set", "dino.class_window=1", "--set", "dino.class_votes=1"];

fn plans(args: &[&str], lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let args: Vec<&str> = args.iter().copied().chain(["-"]).collect();
    isobar_with(&args, &input).done().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Who runs in which domain (two CPUs each) once a plan is carried out.
fn domains(seen: &Value, plan: &Value) -> BTreeMap<u64, u64> {
    let threads = seen["processes"].as_array().unwrap().iter().map(|process| &process["threads"][0]);
    let mut cpus: BTreeMap<u64, u64> =
        threads.map(|thread| (thread["tid"].as_u64().unwrap(), thread["cpu"].as_u64().unwrap())).collect();
    for action in plan["actions"].as_array().unwrap().iter().filter(|action| action["kind"] == "move_thread") {
        cpus.insert(action["tid"].as_u64().unwrap(), action["cpu"].as_u64().unwrap());
    }
    cpus.into_iter().map(|(tid, cpu)| (tid, cpu / 2)).collect()
}

#[test]
fn dino_lays_out_the_paper_s_example() {
    // Classes D D d d d t t t on four domains of two cores end as D t | D t | d t | d d, in some order of domains.
    let mpki = [150, 120, 50, 40, 30, 1, 1, 0];
    let seen = observation(&mpki);
    let plan = &plans(&DINO, std::slice::from_ref(&seen))[0];
    let mut groups: BTreeMap<u64, String> = BTreeMap::new();
    for (tid, domain) in domains(&seen, plan) {
        let class = match mpki[usize::try_from(tid - 100).unwrap()] {
            0..2 => 't',
            2..=100 => 'd',
            _ => 'D',
        };
        groups.entry(domain).or_default().push(class);
    }
    let mut groups: Vec<String> = groups.into_values().collect();
    groups.sort();
    assert_eq!(groups, ["Dt", "Dt", "dd", "dt"]);
    assert!(plan["actions"].as_array().unwrap().iter().all(|action| !action["reason"].as_str().unwrap().is_empty()));
}

#[test]
fn the_order_of_input_does_not_matter() {
    let seen = observation(&[150, 120, 50, 40, 30, 1, 1, 0]);
    let mut turned = seen.clone();
    turned["processes"].as_array_mut().unwrap().reverse();
    turned["machine"]["cpus"].as_array_mut().unwrap().reverse();
    for policy in ["linux", "di-plain", "di-migrate", "dino"] {
        let args = ["decide", "--policy", policy];
        assert_eq!(plans(&args, std::slice::from_ref(&seen)), plans(&args, std::slice::from_ref(&turned)), "{policy}");
    }
}

#[test]
fn a_policy_remembers_from_line_to_line() {
    // The default window needs 7 of 10 intervals before a class is known to have changed.
    let quiet = observation(&[150, 1, 1, 1, 1, 1, 1, 150]);
    let swapped = observation(&[1, 1, 1, 150, 150, 1, 1, 1]);
    let mut lines = vec![quiet; 10];
    lines.extend(vec![swapped.clone(); 10]);
    let together = plans(&["decide", "--policy", "dino"], &lines);
    assert_eq!(together.len(), 20);
    let alone = plans(&["decide", "--policy", "dino"], &[swapped]);
    assert_ne!(together[10], alone[0], "line 11 is decided with the memory of ten others");
}

#[test]
fn the_linux_policy_does_nothing_and_blank_lines_are_skipped() {
    let input = format!("\n  \n{}\n\n", observation(&[1, 2]));
    let said = isobar_with(&["decide", "--policy", "linux", "-"], &input);
    assert_eq!(said.done(), "{\"actions\":[],\"policy\":\"linux\"}\n");
}

#[test]
fn a_missing_sensor_is_a_plan_and_not_an_error() {
    let mut seen = observation(&[150, 10, 1, 0]);
    for process in seen["processes"].as_array_mut().unwrap() {
        process["threads"][0]["llc_misses"] = Value::Null;
        process["pages"] = Value::Null;
    }
    for policy in ["di-plain", "di-migrate", "dino"] {
        let plan = &plans(&["decide", "--policy", policy], std::slice::from_ref(&seen))[0];
        assert_eq!(plan["policy"], policy);
    }
}

#[test]
fn a_file_is_read_as_standard_input_is() {
    let line = observation(&[150, 10, 1, 0]).to_string();
    let (_folder, path) = support::file("seen.jsonl", &line);
    let from_file = isobar(&["decide", "--policy", "dino", &path]).done().to_owned();
    assert_eq!(from_file, isobar_with(&["decide", "--policy", "dino", "-"], &line).done());
}
