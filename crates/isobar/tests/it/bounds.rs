//! Endless input, input that never comes, and input that would take forever to process: each is
//! refused in one line within bounded time.

use crate::support::{file, isobar, isobar_with, observation, run};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Far longer than any of these takes on a loaded machine, and far shorter than forever.
const SOON: Duration = Duration::from_secs(120);

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/study/programs.toml");
const WORKLOADS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/study/workloads.txt");

fn pipe(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}

/// Every way in which the command takes a file that it reads as a whole.
fn readers(path: &str) -> [String; 9] {
    let study = |rest: &str| format!("study --algorithm none,fixed {rest}");
    [
        format!("manage --policy linux --config {path}"),
        format!("manage --policy linux --machine sim:{path}"),
        format!("explain --policy n-mass --set n-mass.profile={path}"),
        format!("sim {path} --policy linux"),
        format!("sim --describe {path}"),
        study(&format!("--profiles {path} --workloads {WORKLOADS}")),
        study(&format!("--profiles {PROGRAMS} --workloads {path}")),
        study(&format!("--profiles {PROGRAMS} --workloads {WORKLOADS} --solution {path}")),
        format!("study --count --ways 4 --workloads {path}"),
    ]
}

fn refused(words: &str, pieces: &[&str]) {
    let begun = Instant::now();
    run(words).refused(pieces);
    assert!(begun.elapsed() < SOON, "{words} took {:?}", begun.elapsed());
}

#[test]
fn files_without_end_are_refused_after_their_size() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["endless.toml", "endless.csv"] {
        let path = folder.path().join(name);
        symlink("/dev/zero", &path).unwrap();
        readers(path.to_str().unwrap()).iter().for_each(|words| refused(words, &[name, "it is larger than", "MiB"]));
    }
    for device in ["/dev/zero", "/dev/urandom"] {
        refused(&format!("topo --root {device}"), &[device, "neither a folder nor an archive"]);
    }
    refused("decide --policy linux /dev/zero", &["/dev/zero:1: a line of more than 64 MiB"]);
}

#[test]
fn files_that_a_workload_names_are_bounded_too() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/dev/zero", folder.path().join("zero.toml")).unwrap();
    symlink("/dev/zero", folder.path().join("zero.csv")).unwrap();
    let workload = folder.path().join("workload.toml");
    for (machine, program) in [
        ("zero.toml", "program = \"mcf\""),
        ("nehalem-2x4", "program_file = \"zero.toml\""),
        ("nehalem-2x4", "program_file = \"zero.csv\""),
    ] {
        std::fs::write(&workload, format!("machine = \"{machine}\"\n[[app]]\n{program}\n")).unwrap();
        let words = format!("sim {} --policy linux", workload.display());
        refused(&words, &["workload.toml", "names zero.", "it is larger than"]);
    }
}

#[test]
fn a_pipe_that_nobody_writes_into_blocks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(folder.path(), "pipe.toml");
    let path = path.to_str().unwrap();
    std::thread::scope(|scope| {
        for words in readers(path) {
            scope.spawn(move || refused(&words, &["pipe.toml", "it is not a regular file and did not end within 5 s"]));
        }
    });
    refused(&format!("topo --root {path}"), &["neither a folder nor an archive"]);
}

#[test]
fn a_pipe_that_ends_is_read_as_a_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let config = pipe(folder.path(), "config.toml");
    let written = config.clone();
    let writer = std::thread::spawn(move || std::fs::write(written, "[manage]\nmax_thread = 3\n").unwrap());
    isobar(&["manage", "--policy", "linux", "--config", config.to_str().unwrap()])
        .refused(&["config.toml:2: unknown field `max_thread`"]);
    writer.join().unwrap();
    // Observations are a stream, so their reader waits for them.
    let seen = pipe(folder.path(), "seen.jsonl");
    let (written, line) = (seen.clone(), observation(&[150, 10, 1, 0]).to_string());
    let writer = std::thread::spawn(move || std::fs::write(written, line).unwrap());
    assert_eq!(isobar(&["decide", "--policy", "linux", seen.to_str().unwrap()]).done().lines().count(), 1);
    writer.join().unwrap();
}

#[test]
fn what_is_long_is_not_repeated_whole() {
    let name = "x".repeat(100_000);
    let short = |said: crate::support::CommandOutput, pieces: &[&str]| {
        said.refused(pieces);
        assert!(said.err.len() < 2500, "{} bytes: {}", said.err.len(), said.err);
    };
    let policy = format!("decide --policy {name} -");
    short(run(&policy), &["unknown policy `xxx", "characters left out", "expected one of"]);
    short(run(&format!("sim --describe {name}")), &["no machine or program of that name"]);
    short(run(&format!("topo --root {name}")), &["xxx"]);
    short(run(&name), &["xxx", "isobar --help"]);
    short(run(&format!("manage --policy linux --only [{name}")), &["--only", "write [*]"]);
    let million = "x".repeat(1 << 20);
    let (_folder, path) = file("isobar.toml", format!("[manage]\npolicy = \"{million}\"\n"));
    short(isobar(&["manage", "--config", &path]), &["unknown policy `xxx"]);
    for (config, said) in [
        (format!("[manage]\ncounters = \"{million}\"\n"), ":2: unknown variant `xxx"),
        (format!("[manage]\n{million} = 1\n"), ":2: unknown field `xxx"),
        (format!("[manage]\nonly = [\"{}[\"]\n", "a b ".repeat(1 << 18)), "manage: only: `a b a b"),
        (format!("[dino]\nclass_window = \"{million}\"\n"), "dino.class_window"),
        (format!("[{million}]\n"), "unknown section [xxx"),
    ] {
        let (_folder, path) = file("isobar.toml", config);
        short(isobar(&["manage", "--policy", "linux", "--config", &path]), &["isobar.toml", said]);
    }
    let workload = format!("machine = \"nehalem-2x4\"\n[[app]]\nprogram = \"{million}\"\n");
    let (_folder, path) = file("w.toml", workload);
    short(isobar(&["sim", &path, "--policy", "linux"]), &["w.toml", "unknown program `xxx"]);
    let said = isobar_with(&["decide", "--policy", "linux", "-"], &format!("{{\"{million}\": 1}}\n"));
    short(said, &["-:1: "]);
    let (_folder, path) = file("w.txt", million);
    let words = format!("study --profiles {PROGRAMS} --workloads {path} --algorithm none");
    short(run(&words), &["unknown program `xxx"]);
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = "[".repeat(1 << 20);
    let (_folder, config) = file("deep.toml", format!("a = {deep}"));
    isobar(&["manage", "--policy", "linux", "--config", &config]).refused(&["deep.toml:1: "]);
    isobar_with(&["decide", "--policy", "linux", "-"], &deep).refused(&["-:1: "]);
}

#[test]
fn more_programs_than_can_be_studied_are_refused() {
    let many = vec!["hash"; 100_000].join(",");
    let (_folder, path) = file("w.txt", &many);
    let study = |rest: &str| format!("study --profiles {PROGRAMS} {rest}");
    let why = "100000 programs in a workload: at most 1024 run together";
    refused(&study(&format!("--workloads {path} --algorithm all")), &["w.txt: line 1: ", why]);
    let solution = serde_json::json!({"solutions": [{
        "apps": vec!["hash"; 100_000], "llc": vec![0; 100_000], "cluster": vec![0; 100_000], "ways": vec![4; 100_000],
    }]});
    let (_folder, path) = file("s.json", solution.to_string());
    refused(&study(&format!("--solution {path} --algorithm fixed")), &["s.json: line 1: ", why]);
    for mbps in ["1e-300", "0.5", "1e300", "inf"] {
        let words = study(&format!("--workloads {WORKLOADS} --algorithm none --max-bandwidth {mbps}"));
        refused(&words, &["--max-bandwidth", "expected MB/s from 1 to 1e9"]);
    }
    for ways in ["0", "65", "4000000000"] {
        let words = study(&format!("--workloads {WORKLOADS} --algorithm none --ways {ways}"));
        refused(&words, &[&format!("--ways {ways}: expected a whole number from 1 to 64")]);
    }
}

#[test]
fn the_least_bandwidth_is_studied_in_bounded_time() {
    let begun = Instant::now();
    let words = format!("study --profiles {PROGRAMS} --workloads {WORKLOADS} --algorithm none,lfoc+ --max-bandwidth 1");
    assert!(run(&words).done().contains("lfoc+"));
    assert!(begun.elapsed() < SOON);
}

#[test]
fn a_thousand_copies_on_eight_cpus_are_refused_with_the_reason() {
    let copies = |count: u32, rest: &str| {
        let text = format!("machine = \"nehalem-2x4\"\n{rest}\n[[app]]\nprogram = \"mcf\"\ncount = {count}\n");
        let (_folder, path) = file("w.toml", text);
        let begun = Instant::now();
        let said = isobar(&["sim", &path, "--policy", "linux"]);
        assert!(begun.elapsed() < SOON, "{count} copies took {:?}", begun.elapsed());
        said
    };
    let why = "`app` makes 1000 threads or more for 8 CPUs; list at most 512 (64 a CPU, 4096 in all)";
    copies(1000, "").refused(&["w.toml", why]);
    assert!(copies(65, "[run]\nruns = 1\ninstructions_factor = 0.001").done().contains("mcf.65"));
}
