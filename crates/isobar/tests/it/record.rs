//! `isobar record`, `manage --record` and `replay`: a replay repeats the recorded decisions,
//! however the recorder ended.

use crate::support::{command, isobar, said};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The shipped workload on which policies act most.
const WORKLOAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/dino-spec.toml");

fn machine() -> String {
    format!("sim:{WORKLOAD}")
}

fn file(folder: &tempfile::TempDir) -> String {
    folder.path().join("run.isobar").display().to_string()
}

/// The documents of a replay; the summary is the last.
fn replayed(args: &[&str]) -> Vec<Value> {
    let all = [&["replay", "--json"], args].concat();
    isobar(&all).done().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_policy_decides_in_a_replay_as_it_did_live() {
    for policy in ["dino", "di-migrate", "maximum-local", "n-mass-regression", "divide-content", "camm", "isobar"] {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder);
        let (machine, set) = (machine(), "manage.min_cpu_percent=20");
        let args =
            ["manage", "--policy", policy, "--machine", &machine, "--for", "70", "--set", set, "--record", &file];
        isobar(&args).done();
        let documents = replayed(&[&file]);
        let summary = &documents.last().unwrap()["summary"];
        assert_eq!((&summary["epochs"], &summary["same_epochs"]), (&70.into(), &70.into()), "{policy}: {summary}");
        let acted =
            documents.iter().filter(|one| one["recorded"]["actions"].as_array().is_some_and(|all| !all.is_empty()));
        assert!(acted.count() > 0, "{policy}: a run without an action proves little");
    }
}

#[test]
fn settings_come_from_the_recording_also_when_their_file_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (file, config) = (file(&folder), folder.path().join("settings.toml"));
    std::fs::write(&config, "[manage]\npolicy = \"dino\"\n[dino]\nclass_window = 4\nclass_votes = 3\n").unwrap();
    let (machine, config) = (machine(), config.display().to_string());
    isobar(&["manage", "--config", &config, "--machine", &machine, "--for", "30", "--record", &file]).done();
    std::fs::remove_file(&config).unwrap();
    let summary = |documents: Vec<Value>| documents.last().unwrap()["summary"].clone();
    assert_eq!(summary(replayed(&[&file]))["same_epochs"], 30);
    let other = summary(replayed(&[&file, "--set", "dino.devil_mpki=33"]));
    assert!(other["same_epochs"].as_u64().unwrap() < 30, "{other}");
}

#[test]
fn another_policy_is_asked_and_shown_beside_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let (file, machine) = (file(&folder), machine());
    let said = isobar(&["record", "-o", &file, "--machine", &machine, "--for", "20"]).done().to_owned();
    assert!(said.contains("recorded 20 epochs") && said.contains("nothing is changed"), "{said}");
    let said = isobar(&["replay", &file, "--policy", "dino"]).done().to_owned();
    assert!(said.contains("decided then: isobar in a dry run; now: dino"), "{said}");
    assert!(said.contains("\n  dino: move thread") && said.contains("only by dino"), "{said}");
}

#[test]
fn a_file_name_need_not_be_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(OsStr::from_bytes(b"run-\xff.isobar"));
    let mut record = command(&["record", "--json", "--machine", &machine(), "--for", "3", "-o"]);
    let document = said(&record.arg(&file).output().unwrap()).document();
    assert_eq!((&document["file"], &document["epochs"]), (&file.display().to_string().into(), &3.into()));
}

#[test]
fn what_cannot_be_recorded_or_read_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (file, machine) = (file(&folder), machine());
    std::fs::write(&file, "something else").unwrap();
    let args = ["record", "-o", &file, "--machine", &machine, "--for", "5"];
    isobar(&args).refused(&["already exists: name another file, or remove it first"]);
    isobar(&["replay", &file]).refused(&["is not a recording of isobar"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "something else");
    let nowhere = folder.path().join("no/such/folder/a.isobar").display().to_string();
    isobar(&["record", "-o", &nowhere, "--machine", &machine, "--for", "5"]).refused(&["No such file"]);
    isobar(&["record", "-o", "x", "--record-bytes", "5"]).refused(&["such as 500M"]);
}

/// A recorder killed at any time leaves a file that can be opened and whose plans are reproduced.
#[test]
fn a_killed_recorder_leaves_every_epoch_but_the_last() {
    let mut opened = 0;
    for round in 0..25u64 {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder);
        let mut child = Command::new(env!("CARGO_BIN_EXE_isobar"))
            .args([
                "manage",
                "--policy",
                "dino",
                "--machine",
                &machine(),
                "--for",
                "100000",
                "--json",
                "--record",
                &file,
            ])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + 30 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        opened += u64::from(is_whole(&file));
    }
    assert!(opened >= 15, "only {opened} of 25 had begun to record before they were killed");
}

/// Whether a file contains anything; what it contains must be complete.
fn is_whole(file: &str) -> bool {
    if !Path::new(file).exists() {
        return false;
    }
    let run = isobar(&["replay", file, "--json"]);
    if run.code != Some(0) {
        assert!(run.err.contains("holds no reading") || run.err.contains("is not a recording"), "{}", run.err);
        return false;
    }
    let last: Value = serde_json::from_str(run.done().lines().last().unwrap()).unwrap();
    let summary = &last["summary"];
    assert_eq!(summary["epochs"], summary["same_epochs"], "{summary}");
    assert_eq!(summary["missing_epochs"], 0);
    true
}

/// A recording looks as the machine did: the same frame and the same answer, except for the source.
#[test]
fn a_recording_is_looked_at_as_the_machine_was() {
    let folder = tempfile::tempdir().unwrap();
    let (file, machine) = (file(&folder), machine());
    isobar(&["record", "-o", &file, "--machine", &machine, "--policy", "linux", "--for", "12"]).done();
    let frame = |machine: &str| {
        let args = ["top", "--once", "--json", "--machine", machine];
        serde_json::from_str::<Value>(isobar(&args).done()).unwrap()
    };
    let (live, recorded) = (frame(&machine), frame(&file));
    // On the simulated machine, `top` also probes latencies, whose traffic is a ten-thousandth of
    // all.
    let given = |view: &Value, part: &str, key: &str| -> Vec<Value> {
        view[part].as_array().unwrap().iter().map(|one| one[key].clone()).collect()
    };
    for (part, key) in [("nodes", "latency_history"), ("nodes", "busy"), ("programs", "name"), ("programs", "pages")] {
        assert_eq!(given(&recorded, part, key), given(&live, part, key), "{part} {key}");
    }
    assert_eq!(recorded["verdict"]["answer"], live["verdict"]["answer"]);
    let said = isobar(&["doctor", "--machine", &file]);
    assert_eq!(said.code, Some(3), "{}", said.out);
    isobar(&["manage", "--policy", "dino", "--machine", &file])
        .refused(&["a recording cannot be managed", "isobar replay"]);
}
