//! Merges small results of two folders by means of the command: table, CSV and page must be equal
//! to the golden files, and the page made of the CSV alone must be the same. `NUMASIM_BLESS=1`
//! rewrites the golden files.

#![allow(clippy::unwrap_used, clippy::panic)]

use numasim_guest::counters::{Counters, Cpu, Node};
use numasim_guest::wire::{DaemonRan, JobRan, Line, Ran, SetupResult};
use numasim_lab::experiment::Experiment;
use numasim_lab::identity::Identity;
use numasim_lab::machine;
use numasim_lab::plan::{Options, order};
use numasim_lab::stored::{self, Stored};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const EXPERIMENT: &str = r#"
name = "pair"
about = "Two scans | and a server."
machine = "small-2x2"
[[program]]
name = "scan"
run = "stream"
instances = 2
[[program]]
name = "kv"
run = "kv"
[[contender]]
kind = "linux"
numa_balancing = true
[[contender]]
kind = "daemon"
name = "mover"
run = "mover"
"#;

fn job(name: &str, seconds: f64) -> JobRan {
    let line = if name == "kv" {
        json!({"seconds": seconds, "p99_latency_us": seconds * 100.0})
    } else {
        json!({"seconds": seconds})
    };
    JobRan { name: name.into(), background: false, line: Some(line), problem: None, migrations: Some(2), pages: None }
}

/// What the machine reports. Of this, and of what the kernel, the daemon and the command before
/// report, a CSV holds only a part.
fn counters() -> Counters {
    let cpu = |node| Cpu { node, misses_by_node: vec![30, 10], ..Cpu::default() };
    let node = || Node { bytes_read: 6000, bytes_written: 2000, ..Node::default() };
    Counters { time_ns: 4_000_000_000, cpus: vec![cpu(0), cpu(1)], nodes: vec![node(), node()], links: Vec::new() }
}

fn ran(id: &str, jobs: Vec<JobRan>) -> Line {
    let vmstat = BTreeMap::from([("pgmigrate_success".to_owned(), 30), ("numa_pages_migrated".to_owned(), 7)]);
    let log = r#"{"summary": {"threads_moved": 3, "pages_moved": 400, "epochs": 9}}"#.to_owned();
    let daemon = DaemonRan { problem: None, log, errors: String::new(), cpu_seconds: Some(0.25) };
    let said = BTreeMap::from([("kv".to_owned(), "{\"moved\": 10}".to_owned())]);
    Line::Run(Box::new(Ran {
        id: id.into(),
        jobs,
        seconds: 5.0,
        problem: None,
        counters: Some(counters()),
        vmstat,
        daemon: Some(daemon),
        before: Some(SetupResult { pages_moved: 10, said }),
    }))
}

/// A boot. Alone, a scan takes 2 s and kv 1 s; under Linux they take 4, 4 and 2 s; under the mover
/// the given times.
fn boot(seed: u64, [first, second, kv]: [f64; 3], image: &str) -> Stored {
    let experiment = Experiment::parse(EXPERIMENT, "pair.toml").unwrap();
    let machine = machine::named("small-2x2", experiment.scale).unwrap();
    let run = |id: &str, [first, second, kv]: [f64; 3]| {
        ran(id, vec![job("scan#1", first), job("scan#2", second), job("kv", kv)])
    };
    let hello = Line::Hello { kernel: "6.12.1".into(), online: "0-3".into() };
    let alone = [ran("alone/scan", vec![job("scan", 2.0)]), ran("alone/kv", vec![job("kv", 1.0)])];
    let contenders = [run("under/linux", [4.0, 4.0, 2.0]), run("under/mover", [first, second, kv]), Line::Done];
    Stored {
        numasim_boot: stored::VERSION,
        order: order(&experiment, &machine.spec, 0, &Options::default()).unwrap(),
        experiment,
        time_scale: 20.0,
        cache_scale: 32.0,
        seed,
        identity: Identity {
            experiment: "e".repeat(64),
            machine: "a".repeat(64),
            kernel: "b".repeat(64),
            qemu: "c".repeat(64),
            plugin: "d".repeat(64),
            image: image.repeat(64),
        },
        command: format!("numasim experiment pair.toml --seed {seed} --repeats 1"),
        commit: "0123456789ab".into(),
        qemu_version: "10.0.2".into(),
        host_seconds: 10.0,
        lines: std::iter::once(hello).chain(alone).chain(contenders).collect(),
    }
}

fn keep(folder: &Path, boots: &[Stored]) {
    std::fs::create_dir_all(folder).unwrap();
    for one in boots {
        stored::write(&stored::path(folder, &one.experiment.name, one.seed, &one.identity), one).unwrap();
    }
}

fn numasim(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_numasim")).args(words).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn golden(name: &str, text: &str) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "fixtures", "merge", name].iter().collect();
    if std::env::var_os("NUMASIM_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, wanted, "{}: NUMASIM_BLESS=1 writes it anew", path.display());
}

/// Half the time, a quarter, and half: ratios 1/2, 1/4 and 1/2, whose mean and interval are those
/// of stats.rs ("a ratio by hand": 0.397 [0.147, 1.072]). ANTT is 2 under Linux, and 1, 0.5 and 1
/// under the mover. The boot of seed 3 is in both folders and counts once.
#[test]
fn two_folders_become_one_table_and_the_csv_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let half = [2.0, 2.0, 1.0];
    keep(&at.join("here"), &[boot(1, half, "f"), boot(3, half, "f")]);
    keep(&at.join("there"), &[boot(2, [1.0, 1.0, 0.5], "f"), boot(3, half, "f")]);
    let table = said(&numasim(at, &["merge", "here", "there"]));
    assert!(table.contains("0.397 [0.147, 1.072]") && table.contains("3 boot(s)"), "{table}");
    golden("table.txt", &table);
    let csv = said(&numasim(at, &["merge", "here", "there", "--csv"]));
    golden("results.csv", &csv);
    std::fs::write(at.join("all.csv"), &csv).unwrap();
    assert_eq!(said(&numasim(at, &["merge", "all.csv"])), table);
    assert_eq!(said(&numasim(at, &["merge", "all.csv", "here", "--csv"])), csv);
    assert_eq!(said(&numasim(at, &["merge", "here", "there", "all.csv", "--csv"])), csv);

    let page = said(&numasim(at, &["report", "all.csv"]));
    assert_eq!(said(&numasim(at, &["report", "here", "there"])), page);
    golden("page.txt", &page);
    let figures = numasim(at, &["report", "all.csv", "-o", "docs/page.md", "--figures", "docs/images"]);
    assert_eq!(figures.status.code(), Some(1), "the folder of the page must be there");
    std::fs::create_dir(at.join("docs")).unwrap();
    said(&numasim(at, &["report", "all.csv", "-o", "docs/page.md", "--figures", "docs/images"]));
    let linked = std::fs::read_to_string(at.join("docs/page.md")).unwrap();
    for figure in ["images/overview.svg", "images/pair-ratios.svg"] {
        assert!(linked.contains(&format!("]({figure})")) && at.join("docs").join(figure).is_file(), "{linked}");
    }
}

/// The folder of figures lies beside the folder of the page, and its name has blanks.
#[test]
fn figures_are_linked_wherever_they_lie() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    keep(&at.join("r"), &[boot(1, [2.0, 2.0, 1.0], "f")]);
    std::fs::create_dir(at.join("docs")).unwrap();
    said(&numasim(at, &["report", "r", "-o", "docs/page.md", "--figures", "my images"]));
    let page = std::fs::read_to_string(at.join("docs/page.md")).unwrap();
    assert!(page.contains("](<../my images/overview.svg>)") && at.join("my images/overview.svg").is_file(), "{page}");
}

/// Two images give two tables, and a line that says so. With seed 1 the mover is ahead, with seed 2
/// it is behind; an average would hide both.
#[test]
fn boots_of_two_images_are_not_averaged() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    keep(&at.join("r"), &[boot(1, [2.0, 2.0, 1.0], "f"), boot(2, [8.0, 8.0, 4.0], "9")]);
    let table = said(&numasim(at, &["merge", "r"]));
    let line = "pair is kept apart by image: 999999999999 (seed 2), ffffffffffff (seed 1)";
    assert!(table.lines().any(|one| one == line), "{table}");
    assert_eq!(table.matches("1 boot(s)").count(), 2, "{table}");
    let page = said(&numasim(at, &["report", "r"]));
    assert!(page.contains("## pair (image ffffffff)") && page.contains("## pair (image 99999999)"), "{page}");
    let documents = numasim(at, &["merge", "r", "--json"]);
    assert_eq!(String::from_utf8_lossy(&documents.stderr), format!("numasim: {line}\n"));
    let first = String::from_utf8_lossy(&documents.stdout).lines().next().map(str::to_owned).unwrap();
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!((&first["seeds"], &first["sha256"]["image"]), (&json!([1]), &json!("ffffffffffffffff")));
}

/// The same hashes and seed must give the same figures.
#[test]
fn what_does_not_repeat_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    keep(&at.join("here"), &[boot(1, [2.0, 2.0, 1.0], "f")]);
    keep(&at.join("there"), &[boot(1, [2.0, 2.5, 1.0], "f")]);
    let merged = numasim(at, &["merge", "here", "there"]);
    let text = String::from_utf8_lossy(&merged.stdout).into_owned();
    assert_eq!(merged.status.code(), Some(1));
    assert!(text.starts_with("pair: seed 1 occurs twice with the same hashes but different figures"), "{text}");
}

/// A CSV holds fewer figures than a folder. Differences in the figures that it holds are reported.
#[test]
fn what_does_not_repeat_is_named_beside_a_csv() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    keep(&at.join("here"), &[boot(1, [2.0, 2.0, 1.0], "f")]);
    let csv = said(&numasim(at, &["merge", "here", "--csv"]));
    std::fs::write(at.join("other.csv"), csv.replace(",0.25,", ",0.75,")).unwrap();
    let merged = numasim(at, &["merge", "here", "other.csv"]);
    assert_eq!(merged.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&merged.stdout).contains("different figures"), "{csv}");
}

/// A contender whose runs all failed keeps its row and its place, also by way of a CSV.
#[test]
fn a_contender_without_a_run_that_counts_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let failed = |seed| {
        let mut one = boot(seed, [2.0, 2.0, 1.0], "f");
        for line in &mut one.lines {
            if let Line::Run(ran) = line
                && ran.id == "under/linux"
            {
                ran.problem = Some("took too long".into());
            }
        }
        one
    };
    keep(&at.join("r"), &[failed(1), failed(2)]);
    let words = |results| numasim(at, &["merge", results]).stdout;
    let table = words("r");
    let csv = numasim(at, &["merge", "r", "--csv"]).stdout;
    std::fs::write(at.join("all.csv"), &csv).unwrap();
    let text = String::from_utf8_lossy(&table).into_owned();
    assert!(text.lines().any(|line| line.starts_with("linux ")) && text.contains("took too long"), "{text}");
    assert_eq!(String::from_utf8_lossy(&words("all.csv")), text);
}

/// With the mover as the baseline, the ratios are inverted.
#[test]
fn another_baseline_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    keep(&at.join("r"), &[boot(1, [2.0, 2.0, 1.0], "f"), boot(2, [2.0, 2.0, 1.0], "f")]);
    let table = said(&numasim(at, &["merge", "r", "--compare-with", "mover"]));
    assert!(table.contains("linux LOSES: 100.0 % later than mover"), "{table}");
}

#[test]
fn wrong_input_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    keep(&at.join("r"), &[boot(1, [2.0, 2.0, 1.0], "f")]);
    std::fs::create_dir(at.join("empty")).unwrap();
    std::fs::write(at.join("other.csv"), "a,b\n1,2\n").unwrap();
    let csv = said(&numasim(at, &["merge", "r", "--csv"]));
    std::fs::write(at.join("bad.csv"), csv.replacen(",4,2,2,", ",four,2,2,", 1)).unwrap();
    std::fs::write(at.join("bare.csv"), csv.lines().next().unwrap()).unwrap();
    let cases: [(&[&str], &str); 7] = [
        (&["merge", "empty"], "numasim: empty: holds no results: `numasim experiment FILE --results DIR` writes them"),
        (&["merge", "nowhere"], "numasim: nowhere: No such file"),
        (&["merge", "other.csv"], "numasim: other.csv: has no column `experiment`"),
        (&["merge", "bad.csv"], "numasim: bad.csv: line 3: `seconds` = \"four\": expected a number"),
        (&["merge", "bare.csv"], "numasim: bare.csv: has no rows"),
        (
            &["merge", "r", "--compare-with", "hurd"],
            "numasim: --compare-with: no contender is called `hurd`; there are linux; mover",
        ),
        (&["merge"], "numasim: the following required arguments were not provided: <DIR|CSV>"),
    ];
    for (words, wanted) in cases {
        let output = numasim(at, words);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.starts_with(wanted) && text.lines().count() == 1, "{words:?}: {text}");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
    }
}
