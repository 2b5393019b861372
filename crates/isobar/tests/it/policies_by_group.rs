//! Groups with policies of their own, on the simulated machine that has a service, a container, a
//! pod and a virtual machine: which policy decided what, in a run, a recording, a replay and a
//! daemon.

use crate::support::{file, isobar, isobar_with};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const GROUPS: &str = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/groups.toml");
const WORKLOAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/groups.toml");

/// Redis is left alone, DI-Migrate decides for the batch jobs, and DINO for the rest.
const CONFIG: &str = r#"
[manage]
policy = "dino"
min_cpu_percent = 0

[dino]
class_window = 2
class_votes = 1

[[manage.group]]
only = ["unit:redis.service"]
policy = "linux"

[[manage.group]]
only = ["slice:batch", "unit:redis.service"]
policy = "di-migrate"
set = { stray_percent = 5.0 }
"#;

/// The processes of an observation by name.
fn pids(epoch: &Value) -> BTreeMap<String, BTreeSet<u64>> {
    let mut by_name: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for process in epoch["observation"]["processes"].as_array().unwrap() {
        let name = process["name"].as_str().unwrap().to_owned();
        by_name.entry(name).or_default().insert(process["pid"].as_u64().unwrap());
    }
    by_name
}

/// Every action of a run, with the policy that decided it.
fn decided(epochs: &[Value]) -> Vec<(String, &Value)> {
    let of_epoch = |epoch: &'_ Value| -> Vec<String> {
        let (plan, actions) = (&epoch["plan"], epoch["plan"]["actions"].as_array().unwrap());
        let mut policies = vec![plan["policy"].as_str().unwrap().to_owned(); actions.len()];
        for part in plan["parts"].as_array().into_iter().flatten() {
            for index in part["actions"].as_array().unwrap() {
                policies[usize::try_from(index.as_u64().unwrap()).unwrap()] =
                    part["policy"].as_str().unwrap().to_owned();
            }
        }
        policies
    };
    let both = |epoch| of_epoch(epoch).into_iter().zip(epoch["plan"]["actions"].as_array().unwrap());
    epochs.iter().flat_map(both).collect()
}

#[test]
fn each_group_is_its_policy_s_and_linux_is_left_alone() {
    let (_guard, config) = file("isobar.toml", CONFIG);
    let args = ["manage", "--config", &config, "--machine", GROUPS, "--for", "20", "--json"];
    let mut epochs = isobar(&args).documents();
    let summary = epochs.pop().unwrap()["summary"].take();
    let groups: Vec<_> =
        summary["groups"].as_array().unwrap().iter().map(|one| one["policy"].as_str().unwrap()).collect();
    assert_eq!((summary["policy"].as_str().unwrap(), groups), ("dino", vec!["linux", "di-migrate"]));
    assert_eq!(epochs[0]["groups"][0]["group"], "unit:redis.service");
    let pids = pids(&epochs[0]);
    let mut acted: BTreeMap<String, u64> = BTreeMap::new();
    for (policy, action) in decided(&epochs) {
        let pid = action["pid"].as_u64().unwrap();
        assert!(!pids["mcf"].contains(&pid), "{action}: redis is Linux's");
        assert_eq!(policy == "di-migrate", pids["lbm"].contains(&pid), "{policy}: {action}");
        let reason = action["reason"].as_str().unwrap();
        assert_eq!(policy == "di-migrate", reason.starts_with("di-migrate for slice:batch, unit:redis.service: "));
        *acted.entry(policy).or_default() += 1;
    }
    assert!(acted.len() == 2 && acted.values().all(|actions| *actions > 0), "{acted:?}");
}

#[test]
fn a_person_reads_who_decides_about_what() {
    let (_guard, config) = file("isobar.toml", CONFIG);
    let told = isobar(&["explain", "--config", &config, "--machine", GROUPS, "--epochs", "2"]);
    let text = told.done();
    for line in
        ["policy dino, every", "policy linux for unit:redis.service\n", "policy di-migrate for slice:batch, unit:"]
    {
        assert!(text.contains(line), "{text}");
    }
    let checked = isobar(&["config", "--check", &config]);
    assert!(checked.done().contains("  policy linux for unit:redis.service\n"), "{}", checked.out);
}

#[test]
fn no_entry_is_the_plain_policy_and_a_group_of_none_says_so_once() {
    let plain = ["manage", "--policy", "isobar", "--machine", GROUPS, "--for", "10", "--json"];
    let without = isobar(&plain).documents();
    let with = |set: &'static str| isobar(&[&plain[..], &["--set", set]].concat()).documents();
    assert_eq!(with("manage.group=[]"), without);
    let mut none = with("manage.group=[{only=[\"unit:nothing\"], policy=\"linux\"}]");
    let notes = none[0]["plan"]["notes"].as_array_mut().unwrap();
    assert_eq!(notes.remove(0), "no managed process is in unit:nothing yet: its policy linux has nothing to decide");
    for (none, plain) in none.iter().zip(&without).take(10) {
        let actions = |epoch: &Value| epoch["plan"]["actions"].clone();
        assert_eq!(actions(none), actions(plain));
    }
}

#[test]
fn a_replay_decides_the_same_also_when_the_configuration_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (config, recording) = (folder.path().join("isobar.toml"), folder.path().join("run.isobar"));
    std::fs::write(&config, CONFIG).unwrap();
    let (config, recording) = (config.display().to_string(), recording.display().to_string());
    isobar(&["manage", "--config", &config, "--machine", GROUPS, "--for", "20", "--record", &recording]).done();
    std::fs::remove_file(&config).unwrap();
    let replayed = isobar(&["replay", "--json", &recording]).documents();
    let summary = &replayed.last().unwrap()["summary"];
    assert_eq!((&summary["epochs"], &summary["same_epochs"]), (&20.into(), &20.into()), "{summary}");
    let parts = replayed.iter().filter(|one| one["replayed"]["parts"].is_array());
    assert!(parts.count() > 0, "a run in which one policy decided all proves little");
}

#[test]
fn decide_and_sim_take_the_same_entries() {
    let set =
        "manage.group=[{only=[\"unit:redis\"], policy=\"linux\"}, {only=[\"slice:batch\"], policy=\"di-migrate\"}]";
    let args = ["manage", "--policy", "dino", "--machine", GROUPS, "--for", "6", "--dry-run", "--json", "--set", set];
    let mut epochs = isobar(&args).documents();
    epochs.pop();
    let input: String = epochs.iter().map(|epoch| format!("{}\n", epoch["observation"])).collect();
    let plans: Vec<Value> = epochs.iter().map(|epoch| epoch["plan"].clone()).collect();
    assert_eq!(isobar_with(&["decide", "--policy", "dino", "--set", set, "-"], &input).documents(), plans);
    let sim =
        |sets: &[&str]| isobar(&[&["sim", WORKLOAD, "--policy", "linux,dino", "--json"], sets].concat()).document();
    let (plain, grouped) = (sim(&[]), sim(&["--set", set]));
    let row = |document: &Value, at: usize| document["policies"][at].clone();
    assert_eq!(row(&plain, 0), row(&grouped, 0), "the baseline is Linux");
    assert_ne!(row(&plain, 1), row(&grouped, 1));
}

#[test]
fn what_is_wrong_is_one_line_with_the_file_the_entry_and_the_remedy() {
    let entry = |rest: &str| format!("[manage]\npolicy = \"isobar\"\n[[manage.group]]\n{rest}\n");
    for (rest, pieces) in [
        ("policy = \"linux\"", &["isobar.toml:3: manage.group 1: no `only`: expected"][..]),
        (
            "only = [\"untt:a\"]\npolicy = \"linux\"",
            &["isobar.toml:3: manage.group 1: only: `untt:a`", "one of unit, slice"],
        ),
        (
            "only = [\"a\"]\npolicy = \"dyno\"",
            &["isobar.toml: manage.group 1: unknown policy `dyno`", "did you mean `dino`?"],
        ),
        (
            "only = [\"a\"]\npolicy = \"dino\"\n[manage.group.set]\nstary_percent = 1",
            &["isobar.toml: manage.group 1: set: dino.stary_percent: unknown key: expected one of"],
        ),
        ("only = [\"a\"]\npolicy = \"lfoc+\"", &["would both divide cache ways", "isobar.ways = false"]),
        ("only = [\"a\"]\npolicy = \"linux\"\nsetting = 1", &["isobar.toml:6: unknown field `setting`"]),
    ] {
        let (_guard, config) = file("isobar.toml", entry(rest));
        isobar(&["config", "--check", &config]).refused(pieces);
        isobar(&["manage", "--config", &config, "--machine", GROUPS]).refused(pieces);
    }
    let (_guard, default) = file("default.toml", isobar(&["config", "--default"]).done());
    isobar(&["config", "--check", &default]).done();
}
