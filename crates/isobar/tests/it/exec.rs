//! Policies that are programs, as a user runs them: `--policy exec:CMD`.

use crate::support::processes::eventually;
use crate::support::{CommandOutput, command, isobar, isobar_with, observation};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The policy of twenty lines that ships with isobar.
const LEAST_LOADED: &str = "exec:python3 ../../examples/policies/least_loaded.py";
const WORKLOAD: &str = "../../examples/workloads/nmass-soplex.toml";
const MIXED: &str = "../../examples/workloads/dino-spec.toml";

fn script(folder: &Path, text: &str) -> String {
    let file = folder.join("policy.sh");
    fs::write(&file, text).unwrap();
    format!("exec:sh {}", file.display())
}

fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        println!("SKIPPED: no python3 here");
    }
    found
}

#[test]
fn a_program_decides_on_lines_and_its_plans_are_held_to_the_rules() {
    let seen = format!("{}\n", observation(&[150, 120, 50, 40, 30, 1, 1, 0]));
    let folder = tempfile::tempdir().unwrap();
    let decide = |text: &str| isobar_with(&["decide", "--policy", &script(folder.path(), text), "-"], &seen);
    let nothing = decide("while read -r line; do echo '{\"actions\": [], \"notes\": [\"seen\"]}'; done");
    assert_eq!((nothing.code, nothing.documents()[0]["notes"][0].as_str()), (Some(0), Some("seen")), "{}", nothing.err);
    for (text, said) in [
        ("echo 'no module named x' >&2; exit 1", "has ended (exit code 1); its last line on stderr: no module named x"),
        ("read -r line; echo 7; read -r line", "gave an answer that is not a plan"),
        (
            "read -r l; echo '{\"actions\":[{\"kind\":\"set_allocation\",\"pid\":1,\"node\":77,\"reason\":\"x\"}]}'; read -r l",
            "made a plan that cannot be carried out: ",
        ),
    ] {
        decide(text).failed(1, &["policy exec:sh ", said]);
    }
}

#[test]
fn what_is_no_program_is_bad_input_in_every_verb() {
    for words in [
        vec!["sim", WORKLOAD, "--policy", "linux,exec:./none.py"],
        vec!["manage", "--policy", "exec:./none.py", "--for", "1"],
        vec!["decide", "--policy", "exec:./none.py", "-"],
        vec!["reproduce", "nmass", "--policy", "exec:./none.py"],
    ] {
        isobar(&words).refused(&["exec:./none.py: ./none.py is not found: expected a program in PATH"]);
    }
    let misspelt = isobar(&["sim", WORKLOAD, "--policy", "exec:sh", "--set", "exec.timeout=3"]);
    misspelt.refused(&["--set exec.timeout=3", "expected one of `timeout_seconds`"]);
}

/// Runs `isobar sim` on one thread, so that the order of its messages is fixed.
fn sim(workload: &str, policies: &str) -> CommandOutput {
    isobar(&["sim", workload, "--policy", policies, "--schedules", "sampled", "--jobs", "1", "--json"])
}

#[test]
fn a_policy_of_twenty_lines_of_python_is_compared_with_those_that_ship() {
    if !has_python() {
        return;
    }
    let lines = fs::read_to_string("../../examples/policies/least_loaded.py").unwrap();
    assert!(lines.lines().count() < 45, "a short example");
    let said = sim(MIXED, &format!("linux,dino,{LEAST_LOADED}"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    let row = &document["policies"][2];
    assert_eq!(row["policy"], LEAST_LOADED);
    assert!(row["thread_migrations"].as_f64().unwrap() > 0.0, "{row}");
    assert!(said.err.contains("decisions of ") && said.err.contains("ms in isobar"), "{}", said.err);
    assert_eq!(sim(MIXED, &format!("linux,dino,{LEAST_LOADED}")).out, said.out, "the same bytes for the same seed");
}

#[test]
fn in_a_simulation_a_program_that_dies_ends_it_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let policy = script(folder.path(), "read -r line; echo 'ZeroDivisionError: division by zero' >&2; exit 1");
    let expected = format!("policy {policy}: has ended (exit code 1); its last line on stderr: ZeroDivisionError");
    sim(WORKLOAD, &policy).failed(1, &[&expected]);
}

/// The epochs of a simulated machine that a policy manages.
fn managed(policy: &str, more: &[&str]) -> Vec<Value> {
    let machine = format!("sim:{WORKLOAD}");
    let words = [&["manage", "--policy", policy, "--machine", &machine, "--for", "6", "--json"], more].concat();
    isobar(&words).documents()
}

fn notes(epochs: &[Value]) -> String {
    epochs.iter().map(|epoch| epoch["plan"]["notes"].to_string() + "\n").collect()
}

#[test]
fn manage_survives_what_a_program_does_and_changes_nothing_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let dying = script(folder.path(), "read -r line; echo Killed >&2; kill -9 $$");
    let epochs = managed(&dying, &["--set", "exec.restarts=1"]);
    let said = notes(&epochs);
    assert!(said.contains("has ended (killed by signal 9); its last line on stderr: Killed"), "{said}");
    assert!(said.contains("is not restarted (exec.restarts)"), "{said}");
    assert!(epochs.iter().all(|epoch| epoch["plan"]["actions"].as_array().is_none_or(Vec::is_empty)));
    let silent = script(folder.path(), "exec sleep 600");
    let said = notes(&managed(&silent, &["--set", "exec.timeout_seconds=0.05"]));
    assert!(said.contains("took longer than 0.05 s for its decision"), "{said}");
}

#[test]
fn a_recording_is_replayed_with_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.isobar");
    let policy = script(folder.path(), "while read -r line; do echo '{\"actions\": []}'; done");
    let record = file.display().to_string();
    managed("n-mass", &["--record", &record]);
    let replayed = isobar(&["replay", &record, "--policy", &policy]);
    assert!(replayed.done().contains(&format!("now: {policy}")), "{}", replayed.out);
    let dying = script(folder.path(), "exit 4");
    isobar(&["replay", &record, "--policy", &dying]).failed(1, &["has ended (exit code 4)"]);
}

#[test]
fn a_program_ends_with_us_even_where_we_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    // The program ignores the end of its input and every signal that can be ignored.
    let stubborn = format!("trap '' TERM HUP INT PIPE; echo $$ > {}; while :; do sleep 0.1; done", pid.display());
    let policy = script(folder.path(), &stubborn);
    let mut isobar = command(&["manage", "--policy", &policy, "--dry-run", "--quiet"]).spawn().unwrap();
    let text = || fs::read_to_string(&pid).unwrap_or_default();
    eventually("it has started", || text().ends_with('\n'));
    isobar.kill().unwrap();
    isobar.wait().unwrap();
    let stat = Path::new("/proc").join(text().trim()).join("stat");
    let state = || fs::read_to_string(&stat).unwrap_or_default();
    eventually("it has ended with us", || state().is_empty() || state().contains(") Z "));
}
