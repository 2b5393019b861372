//! Tests `isobar decide`: observations in, plans out.

use crate::support::{isobar, isobar_with, observation, policies};
use serde_json::Value;
use std::collections::BTreeMap;

/// Arguments with which a window of one interval decides which programs are super-devils, devils
/// and turtles (DINO, section 3.2).
const DINO: [&str; 7] = ["decide", "--policy", "dino", "--set", "dino.class_window=1", "--set", "dino.class_votes=1"];

fn plans(args: &[&str], lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let args: Vec<&str> = args.iter().copied().chain(["-"]).collect();
    isobar_with(&args, &input).documents()
}

/// The CPU of each thread after a plan is carried out.
fn cpus(seen: &Value, plan: &Value) -> BTreeMap<u64, u64> {
    let processes = seen["processes"].as_array().unwrap();
    let threads = processes.iter().flat_map(|process| process["threads"].as_array().unwrap());
    let mut cpus: BTreeMap<u64, u64> =
        threads.map(|thread| (thread["tid"].as_u64().unwrap(), thread["cpu"].as_u64().unwrap())).collect();
    for action in plan["actions"].as_array().unwrap().iter().filter(|action| action["kind"] == "move_thread") {
        cpus.insert(action["tid"].as_u64().unwrap(), action["cpu"].as_u64().unwrap());
    }
    cpus
}

#[test]
fn dino_lays_out_the_paper_s_example() {
    // The classes D D d d d t t t on four domains of two cores become D t | D t | d t | d d, in
    // some order of domains.
    let mpki = [150, 120, 50, 40, 30, 1, 1, 0];
    let seen = observation(&mpki);
    let plan = &plans(&DINO, std::slice::from_ref(&seen))[0];
    let mut groups: BTreeMap<u64, String> = BTreeMap::new();
    for (tid, cpu) in cpus(&seen, plan) {
        let class = match mpki[usize::try_from(tid - 100).unwrap()] {
            0..2 => 't',
            2..=100 => 'd',
            _ => 'D',
        };
        groups.entry(cpu / 2).or_default().push(class);
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
    for policy in policies() {
        let args = ["decide", "--policy", policy];
        assert_eq!(plans(&args, std::slice::from_ref(&seen)), plans(&args, std::slice::from_ref(&turned)), "{policy}");
    }
}

#[test]
fn a_policy_remembers_from_line_to_line() {
    // With the default window, a class must be seen in 7 of 10 intervals before it counts as
    // changed.
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
    assert_eq!(said.done(), "{\"policy\":\"linux\",\"actions\":[]}\n");
}

#[test]
fn a_missing_sensor_is_a_plan_and_not_an_error() {
    let mut seen = observation(&[150, 10, 1, 0]);
    for process in seen["processes"].as_array_mut().unwrap() {
        process["threads"][0]["llc_misses"] = Value::Null;
        process["pages"] = Value::Null;
    }
    for policy in ["maximum-local", "n-mass", "n-mass-regression", "di-plain", "di-migrate", "dino"] {
        let plan = &plans(&["decide", "--policy", policy], std::slice::from_ref(&seen))[0];
        assert_eq!(plan["policy"], policy);
    }
}

#[test]
fn a_file_is_read_as_standard_input_is() {
    let line = observation(&[150, 10, 1, 0]).to_string();
    let (_folder, path) = crate::support::file("seen.jsonl", &line);
    let from_file = isobar(&["decide", "--policy", "dino", &path]).done().to_owned();
    assert_eq!(from_file, isobar_with(&["decide", "--policy", "dino", "-"], &line).done());
}

/// Threads `(process, thread, MPKI)` of the example of DINO, section 3.3.3. Thread n runs on core n
/// of four domains of two cores. Threads 0, 3, 4 and 5 belong to process 0; each of the others is a
/// process of its own, numbered from `first`.
fn paper_s_example(first: u64) -> Value {
    const MPKI: [u64; 8] = [150, 0, 20, 0, 20, 0, 20, 150];
    let mut seen = observation(&MPKI);
    let one_each: Vec<Value> = seen["processes"].as_array().unwrap().clone();
    let thread = |tid: usize| {
        let mut thread = one_each[tid]["threads"][0].clone();
        thread["tid"] = tid.into();
        thread
    };
    let process = |pid: u64, tids: &[usize]| {
        let threads: Vec<Value> = tids.iter().map(|&tid| thread(tid)).collect();
        serde_json::json!({"pid": pid, "name": format!("p{pid}"), "pages": null, "threads": threads})
    };
    seen["processes"] = serde_json::json!([
        process(first, &[0, 3, 4, 5]),
        process(first + 1, &[1]),
        process(first + 2, &[2]),
        process(first + 3, &[6]),
        process(first + 4, &[7]),
    ]);
    seen
}

#[test]
fn dino_ends_the_paper_s_example_as_the_paper_does() {
    // Processes numbered from 0, as in the paper, and from 10.
    for first in [0, 10] {
        let seen = paper_s_example(first);
        let plan = &plans(&DINO, std::slice::from_ref(&seen))[0];
        let threads: BTreeMap<u64, u64> = cpus(&seen, plan).into_iter().map(|(tid, cpu)| (cpu, tid)).collect();
        let threads: Vec<u64> = threads.into_values().collect();
        assert_eq!(threads, [0, 3, 7, 1, 4, 5, 6, 2], "on CPUs 0 to 7, processes from {first}");
    }
}

#[test]
fn shuffled_input_gives_the_same_bytes() {
    let args: Vec<&str> = DINO.iter().copied().chain(["-"]).collect();
    let decided = |seen: &Value| isobar_with(&args, &seen.to_string()).done().to_owned();
    let seen = paper_s_example(0);
    let expected = decided(&seen);
    for turn in 0..5 {
        let mut turned = seen.clone();
        for list in ["/processes", "/processes/0/threads", "/machine/cpus", "/machine/nodes", "/machine/llcs"] {
            let list = turned.pointer_mut(list).unwrap().as_array_mut().unwrap();
            let places = list.len();
            list.rotate_left(turn % places);
            list.swap(0, places - 1);
        }
        assert_eq!(decided(&turned), expected, "turn {turn}");
    }
}

#[test]
fn text_from_other_systems_is_read_and_no_text_is_no_plan() {
    let line = observation(&[150, 10, 1, 0]).to_string();
    let plain = isobar_with(&["decide", "--policy", "dino", "-"], &format!("{line}\n{line}\n")).done().to_owned();
    for other in
        [format!("{line}\r\n{line}\r\n"), format!("\u{feff}{line}\n{line}"), format!("\r\n{line}\n\n{line}\n\n")]
    {
        assert_eq!(isobar_with(&["decide", "--policy", "dino", "-"], &other).done(), plain);
    }
    for nothing in ["", "\n", "\u{feff}", "\r\n \t\r\n"] {
        assert_eq!(isobar_with(&["decide", "--policy", "dino", "-"], nothing).done(), "");
    }
}

#[test]
fn a_long_line_is_one_observation() {
    let mut seen = observation(&[150, 10, 1, 0]);
    seen["processes"][0]["name"] = "x".repeat(8 << 20).into();
    assert_eq!(plans(&["decide", "--policy", "linux"], &[seen]).len(), 1);
}

#[test]
fn a_reader_that_leaves_ends_it_without_a_word() {
    let line = observation(&[150, 10, 1, 0]).to_string();
    let (_folder, path) = crate::support::file("seen.jsonl", format!("{line}\n").repeat(2000));
    let mut child = crate::support::command(&["decide", "--policy", "dino", &path]).spawn().unwrap();
    drop(child.stdout.take());
    let ended = crate::support::said(&child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}
