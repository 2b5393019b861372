//! `counters = "numasim"` and `ways = "numasim"`: they use the shared page of a numasim guest,
//! which a file and a plugin of the tests stand in for.

#[path = "../../../../numasim/page/tests/stand_in/mod.rs"]
mod stand_in;

use crate::support::processes::Kept;
use crate::support::{CommandOutput, command, said};
use numasim_page::{Mapping, Words, layout};
use serde_json::Value;
use stand_in::{Plugin, RATE};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

fn manage(page: &Path, rest: &[&str]) -> CommandOutput {
    let args = ["manage", "--interval", "0.4", "--for", "1.3", "--policy", "linux", "--dry-run"];
    let args: Vec<&str> = args.iter().chain(rest).copied().collect();
    said(&command(&args).env("ISOBAR_NUMASIM_PAGE", page).output().unwrap())
}

#[test]
fn a_dry_run_sees_the_pages_counts_by_thread() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = Plugin::start(folder.path());
    let busy = Kept::busy("/bin/sh");
    let run =
        manage(&plugin.path, &["--set", "manage.counters=numasim", "--set", "manage.min_cpu_percent=0", "--json"]);
    let lines = run.documents();
    let text = serde_json::to_string(&lines[0]).unwrap();
    assert!(text.contains("counters of the numasim test machine, attributed to threads by CPU time"), "{text}");
    let pid = u64::from(busy.0.id());
    let seen: Vec<&Value> = lines
        .iter()
        .filter_map(|line| line["observation"]["processes"].as_array())
        .flatten()
        .filter(|process| process["pid"].as_u64() == Some(pid))
        .flat_map(|process| process["threads"].as_array().unwrap())
        .collect();
    let figure = |thread: &Value, name: &str| thread[name].as_u64();
    let counted: Vec<(u64, u64)> = seen
        .iter()
        .filter_map(|thread| Some((figure(thread, "instructions")?, figure(thread, "llc_misses")?)))
        .collect();
    assert!(counted.iter().any(|(instructions, _)| *instructions > RATE / 1000), "{seen:?}");
    for (instructions, misses) in counted {
        assert!(instructions <= RATE && misses.abs_diff(instructions / 100) <= 2, "{instructions} and {misses}");
    }
}

#[test]
fn people_are_told_what_the_counters_and_the_ways_are() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = Plugin::start(folder.path());
    let run = manage(&plugin.path, &["--set", "manage.counters=numasim"]);
    assert!(run.done().contains("remark: counters of the numasim test machine"), "{}", run.out);
    let run = manage(&plugin.path, &["--set", "manage.ways=numasim"]);
    if run.err.contains("last-level cache") {
        eprintln!("SKIPPED: the caches of this machine are not one LLC, or not known: {}", run.err);
        return;
    }
    assert!(run.done().contains("remark: cache ways of the numasim test machine"), "{}", run.out);
    assert_eq!(Mapping::file(&plugin.path).unwrap().load(layout::WISHED), 0, "a dry run asks for nothing");
}

/// The plugin ends in the middle of a run. A remark says so, and nothing is counted from then on.
#[test]
fn a_page_that_goes_stale_is_told_in_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = Plugin::start(folder.path());
    let path = plugin.path.clone();
    let args = ["manage", "--interval", "0.3", "--for", "2", "--policy", "linux", "--dry-run"];
    let args = args.into_iter().chain(["--set", "manage.counters=numasim"]).collect::<Vec<_>>();
    let run = command(&args).env("ISOBAR_NUMASIM_PAGE", &path).spawn().unwrap();
    sleep(Duration::from_millis(900));
    drop(plugin);
    let run = said(&run.wait_with_output().unwrap());
    assert_eq!(
        run.done().matches("remark: numasim: the page has not changed since guest time").count(),
        1,
        "{}",
        run.out
    );
}

#[test]
fn without_a_page_it_is_bad_input_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none");
    manage(&none, &["--set", "manage.counters=numasim"]).refused(&[
        "none: cannot open it",
        "manage.counters = \"numasim\" works only in a numasim guest",
        "remove the key",
    ]);
    let plugin = Plugin::start(folder.path());
    Mapping::file(&plugin.path).unwrap().store(layout::PAGE_VERSION, 9);
    manage(&plugin.path, &["--set", "manage.ways=numasim"]).refused(&["version 9", "manage.ways"]);
    Mapping::file(&plugin.path).unwrap().store(layout::PAGE_VERSION, 1);
    manage(&plugin.path, &["--set", "manage.ways=page"]).refused(&["`resctrl` or `numasim`"]);
}

/// numasim's experiments start isobar in the guest with command lines and configurations. isobar
/// must accept all of them.
#[test]
fn the_commands_of_numasims_experiments_are_isobars() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none");
    let experiments = concat!(env!("CARGO_MANIFEST_DIR"), "/../../numasim/experiments");
    let own = std::fs::read_dir(experiments).unwrap().map(|entry| entry.unwrap().path());
    // The mixes of the tournament share one file with their contenders and the contenders' files.
    let field = Path::new(experiments).join("tournament/field.toml");
    for path in own.filter(|path| path.is_file()).chain([field]) {
        let text = std::fs::read_to_string(&path).unwrap().replace("{commands}", "\"chase\"");
        let experiment: toml::Table = toml::from_str(&text).unwrap();
        let files = experiment.get("files").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        let contenders = experiment["contender"].as_array().unwrap();
        // Page mappings are compared without a manager, so they have no settings of a manager.
        for run in contenders.iter().filter_map(|contender| contender.get("run")?.as_str()) {
            let (name, settings) = files.iter().find(|(name, _)| run.contains(name.as_str())).unwrap_or_else(|| {
                panic!("{}: a manager without settings: {run}", path.display());
            });
            let (config, settings) = (folder.path().join("config.toml"), settings.as_str().unwrap());
            std::fs::write(&config, settings).unwrap();
            // A guest starts without recordings.
            let kept = folder.path().join("run.isobar");
            let _ = std::fs::remove_file(&kept);
            let run = run.replace(name.as_str(), config.to_str().unwrap());
            let run = run.replace("/tmp/run.isobar", kept.to_str().unwrap());
            let args: Vec<&str> = run.split_whitespace().skip(1).chain(["--dry-run", "--for", "1"]).collect();
            let said = said(&command(&args).env("ISOBAR_NUMASIM_PAGE", &none).output().unwrap());
            if settings.contains("counters = \"numasim\"") {
                said.refused(&["manage.counters = \"numasim\" works only in a numasim guest"]);
            } else {
                assert_eq!(said.code, Some(0), "{}", said.err);
            }
        }
    }
}
