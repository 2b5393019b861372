//! `isobar manage`, `explain` and `restore` on the machine that runs the tests. Nothing here
//! depends on what that machine offers: the policy `linux` runs anywhere, and what `dino` lacks is
//! reported.

use crate::support::processes::{Kept, state_in};
use crate::support::{CommandOutput, command, isobar, said};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

fn manage(rest: &[&str]) -> CommandOutput {
    let folder = tempfile::tempdir().unwrap();
    let state = state_in(folder.path());
    let args = ["manage", "--interval", "0.3", "--for", "0.9", "--set", &state];
    isobar(&args.iter().chain(rest).copied().collect::<Vec<_>>())
}

/// The owner of a folder.
fn uid_of(folder: &Path) -> u32 {
    std::fs::metadata(folder).unwrap().uid()
}

/// The binary run by a user with few privileges, who becomes the owner of the test's folder.
fn without_privileges(folder: &Path, args: &[&str]) -> Command {
    if uid_of(folder) != 0 {
        return command(args);
    }
    std::os::unix::fs::chown(folder, Some(65_534), Some(65_534)).unwrap();
    // The binary may be in a folder that only root may enter, so a copy of it is run.
    let copy = folder.join("copy-of-isobar");
    crate::support::copy_program(env!("CARGO_BIN_EXE_isobar"), &copy);
    let mut as_nobody = Command::new(copy);
    as_nobody.env("ISOBAR_TEST_MANAGER_LOCK", "none");
    as_nobody.args(args).uid(65_534).gid(65_534).stdout(Stdio::piped()).stderr(Stdio::piped());
    as_nobody
}

#[test]
fn it_tells_the_machine_what_it_sees_and_what_became_of_it() {
    let _busy = Kept::busy("/bin/sh");
    for rest in [&["--policy", "linux"][..], &["--policy", "dino", "--dry-run"]] {
        let run = manage(rest);
        let out = run.done();
        for piece in ["policy ", "every 0.3 s", "machine: ", "measured: ", "busiest processes:", "pid ", " epochs, "] {
            assert!(out.contains(piece), "`{piece}` expected in: {out}");
        }
        assert!(out.contains(if rest.len() == 2 { "put back" } else { "nothing changed (dry run)" }), "{out}");
    }
}

#[test]
fn a_machine_with_one_memory_domain_is_told_plainly() {
    let machine = isobar(&["topo", "--json"]).document();
    let count = |key: &str| machine[key].as_array().unwrap().len();
    if count("nodes").max(count("llcs")) > 1 {
        eprintln!("SKIPPED: this machine has several memory domains");
        return;
    }
    assert!(manage(&["--policy", "linux"]).done().contains("there is nowhere to move threads or pages to"));
}

#[test]
fn what_a_policy_lacks_is_one_message_and_a_dry_run_goes_on() {
    let document = &manage(&["--policy", "dino", "--dry-run", "--json"]).documents()[0];
    let lacking = document["lacking"].as_array().unwrap();
    if lacking.is_empty() {
        eprintln!("SKIPPED: this machine lacks nothing that dino needs");
        return;
    }
    let sensor = lacking[0].as_str().unwrap();
    let why = document["missing"][sensor].as_str().unwrap();
    let refused = manage(&["--policy", "dino"]);
    refused.failed(1, &["policy dino cannot run here", why, "policies that would run here: linux, fixed", "--dry-run"]);
    let explained = isobar(&["explain", "--policy", "dino"]);
    explained.failed(1, &["policy dino cannot run here", why]);
    assert_eq!(explained.out, "");
}

#[test]
fn json_lines_hold_what_decide_needs_to_repeat_the_plan() {
    let run = manage(&["--policy", "dino", "--dry-run", "--json"]);
    let (epochs, summary) = run.decided_again("dino");
    assert!(!epochs.is_empty());
    assert_eq!(summary["epochs"], epochs.len());
    let used = |document: &Value| document["own_cpu_seconds"].as_f64().unwrap();
    let all: f64 = epochs.iter().map(used).sum();
    assert!(all > 0.0 && (used(&summary) - all).abs() < 1e-9, "{summary}");
    assert!(summary["own_cpu_percent"].as_f64().unwrap() < 200.0, "{summary}");
}

#[test]
fn only_chooses_and_a_name_that_fits_nothing_is_told() {
    let busy = Kept::busy("/bin/sh");
    let pid = busy.pid();
    let words = ["--policy", "linux", "--json", "--only", &pid, "--only", "no-such-name"];
    let epoch = &manage(&[&words[..], &["--set", "manage.min_cpu_percent=0"]].concat()).documents()[0];
    assert_eq!(epoch["managed"]["processes"], 1, "{epoch}");
    assert_eq!(epoch["observation"]["processes"][0]["pid"].to_string(), pid);
    assert_eq!(epoch["unmatched_only"], serde_json::json!(["no-such-name"]));
}

#[test]
fn a_process_s_name_cannot_break_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let shell = folder.path().join("x\u{1b}[2J\nisobar:");
    crate::support::copy_program("/bin/sh", &shell);
    let busy = Kept::busy(&shell);
    let pid = busy.pid();
    let run = manage(&["--policy", "linux", "--only", &pid]);
    let out = run.done();
    assert!(out.contains("x\\u{1b}[2J\\nisobar:"), "{out}");
    assert!(!out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn a_reader_that_leaves_ends_it_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let state = state_in(folder.path());
    let args = ["manage", "--policy", "linux", "--json", "--interval", "0.1", "--for", "10", "--set", &state];
    let mut child = command(&args).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ended = said(&child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn without_privileges_it_names_the_capability_and_goes_on_observing() {
    let folder = tempfile::tempdir().unwrap();
    let state = state_in(folder.path());
    let run = ["manage", "--policy", "linux", "--interval", "0.3", "--for", "0.6", "--set", &state];
    let mut run = without_privileges(folder.path(), &run);
    let ended = said(&run.output().unwrap());
    let out = ended.done();
    for capability in ["CAP_SYS_NICE", "CAP_SYS_PTRACE"] {
        assert_eq!(out.matches(capability).count(), 1, "{capability} is named once: {out}");
    }
    assert!(out.contains("0 actions decided"), "{out}");
}

#[test]
fn a_state_file_that_is_none_is_kept_and_told() {
    let (folder, path) = crate::support::file("state.json", "{ not a ledger");
    // A file named by the user is bad input; one found in the usual place is a failure.
    isobar(&["restore", "--state", &path]).refused(&[&path, "not a state file of isobar"]);
    let usual = folder.path().join("isobar");
    std::fs::create_dir(&usual).unwrap();
    std::fs::write(usual.join("state.json"), "{ not a ledger").unwrap();
    let mut restore = without_privileges(folder.path(), &["restore"]);
    for path in [usual.clone(), usual.join("state.json")] {
        std::os::unix::fs::chown(path, Some(uid_of(folder.path())), None).unwrap();
    }
    let usual = said(&restore.env("XDG_RUNTIME_DIR", folder.path()).output().unwrap());
    usual.failed(1, &["isobar/state.json", "not a state file of isobar"]);
    assert!(Path::new(&path).exists());
}
