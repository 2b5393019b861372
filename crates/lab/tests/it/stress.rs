//! The workloads of `examples/stress`: there are seventeen, each says why an operator meets it, and
//! every policy runs each of them to its end.

use isobar_lab::{CompareSpec, NamedPolicy, Starts, across, compare};
use isobar_policy::Settings;
use isobar_policy::registry::{build, entries};
use isobar_sim::Workload;
use std::path::{Path, PathBuf};

/// Long enough for a few decisions of a policy and for some programs to end and start again. Every
/// run is a simulation of fixed length: on a loaded machine it takes longer and gives the same
/// results.
const PART: f64 = 0.1;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/stress")
}

fn texts() -> Vec<(String, String)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    let text = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    files.into_iter().map(text).collect()
}

fn read(name: &str, text: &str) -> Workload {
    let beside = |path: &str| std::fs::read_to_string(folder().join(path)).map_err(|error| error.to_string());
    Workload::from_toml_with(name, text, &beside).unwrap()
}

/// Each has NUMA balancing on, as people run Linux today, and is as short as the file says.
#[test]
fn each_says_why_it_is_there_and_has_numa_balancing_on() {
    let all = texts();
    assert_eq!(all.len(), 17);
    for (name, text) in &all {
        let head: Vec<_> = text.lines().take_while(|line| line.starts_with("# ")).collect();
        assert!(head.len() >= 2 && head.len() <= 4, "{name}");
        assert!(read(name, text).run.numa_balancing, "{name}");
    }
}

#[test]
fn every_policy_runs_each_to_its_end() {
    // `static-P` is a family of policies; one of them stands for all.
    let names = entries().iter().map(|entry| if entry.name == "static-P" { "static-60" } else { entry.name });
    let policy = |name: &'static str| -> NamedPolicy<'static> {
        (name.to_owned(), Box::new(move || build(name, &Settings::default()).unwrap()))
    };
    let policies: Vec<_> = names.map(policy).collect();
    let mut compared = Vec::new();
    for (name, text) in texts() {
        let mut workload = read(&name, &text);
        workload.run.instructions_factor *= PART;
        workload.run.runs = 1;
        let spec = CompareSpec { starts: Starts::Sampled, ..CompareSpec::new(workload) };
        compared.push((name, compare(&spec, &policies).unwrap()));
    }
    let matrix = across(&compared).unwrap();
    assert_eq!((matrix.workloads.len(), matrix.all.len()), (17, policies.len() - 1));
    for row in &matrix.workloads {
        assert!(row.linux_antt > 0.99, "{row:?}");
        let sound = |percent: f64| percent.is_finite() && percent < 100.0;
        assert!(
            row.cells.iter().all(|cell| sound(cell.mean_percent) && cell.worst_percent <= cell.mean_percent),
            "{row:?}"
        );
    }
}
