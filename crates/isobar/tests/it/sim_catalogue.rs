//! `isobar sim --list` and `--describe`, and workloads with a user's own machines and programs.

use crate::support::{command, isobar, said};

#[test]
fn the_list_names_every_machine_and_program_of_the_papers() {
    let text = isobar(&["sim", "--list"]).done().to_owned();
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    for name in
        ["nehalem-2x4", "westmere-8x10", "opteron-8x8", "mcf", "xalancbmk17", "sp-omp", "streamcluster", "lu-mpi"]
    {
        assert!(text.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{name}: {text}");
    }
    let all = isobar(&["sim", "--list", "--json"]).document();
    assert_eq!((all["kind"].as_str(), all["machines"].as_array().unwrap().len()), (Some("list"), 11));
    let programs = all["programs"].as_array().unwrap();
    let mcf = programs.iter().find(|program| program["name"] == "mcf").unwrap();
    assert_eq!((mcf["machine"].as_str(), mcf["class"].as_str()), (Some("nehalem-2x4"), Some("devil")));
    assert!((mcf["numa_penalty"].as_f64().unwrap() - 1.21).abs() < 0.02, "{mcf}");
    assert!(programs.len() >= 60 && programs.iter().all(|program| program["mpki"].is_f64()), "{}", programs.len());
}

#[test]
fn a_program_is_described_by_its_curve() {
    let text = isobar(&["sim", "--describe", "soplex"]).done().to_owned();
    assert!(text.contains("NUMA penalty 1.36") && text.contains("32 MiB") && text.contains("N-MASS, 3.1"), "{text}");
    assert!(text.lines().filter(|line| line.contains('│') || line.contains('┤')).count() == 12, "{text}");
    let facts = isobar(&["sim", "--describe", "soplex", "--json"]).document();
    assert_eq!((facts["kind"].as_str(), facts["suite"].as_str()), (Some("program"), Some("SPEC CPU2006")));
    let curve = facts["curve"].as_array().unwrap();
    assert!(curve.windows(2).all(|pair| pair[1]["mpki"].as_f64() <= pair[0]["mpki"].as_f64()));
    // streaming 10.9 + reuse 24.9 without any cache.
    assert!((curve[0]["mpki"].as_f64().unwrap() - 35.8).abs() < 1e-9 && curve[0]["bytes"].as_f64() == Some(0.0));
}

/// Latency is flat up to about half of what a node carries, and two to three times the idle latency
/// at nine tenths.
#[test]
fn a_machine_is_described_by_its_latency_under_load() {
    let text = isobar(&["sim", "--describe", "westmere-8x10"]).done().to_owned();
    assert!(text.contains("0-1: 12.8") && text.contains("189.2") && text.contains("CAMM, table III"), "{text}");
    for machine in ["nehalem-2x4", "barcelona-4x4", "haswell-2x18", "skylake-2x20", "xeon-4x8", "itanium-2x4"] {
        let facts = isobar(&["sim", "--describe", machine, "--json"]).document();
        let load = facts["load"].as_array().unwrap();
        let at = |part: f64| {
            let found = load.iter().find(|load| load["utilisation"].as_f64() == Some(part));
            found.unwrap()["local_ns"].as_f64().unwrap()
        };
        assert!(at(0.5) < 1.15 * at(0.0), "{machine}");
        assert!((2.0..=3.0).contains(&(at(0.9) / at(0.0))), "{machine} {}", at(0.9) / at(0.0));
    }
}

#[test]
fn a_users_own_machine_and_programs_run_and_are_described() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let run = |args: &[&str]| said(&command(args).current_dir(root).output().unwrap());
    let document = run(&["sim", "examples/own/workload.toml", "--policy", "linux", "--json"]).document();
    let apps = document["policies"][0]["apps"].as_array().unwrap();
    let names: Vec<_> = apps.iter().map(|app| app["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["stencil.1", "stencil.2", "sweep.1", "sweep.2", "tree"]);
    assert_eq!(document["notes"].as_array().unwrap().len(), 1, "sweep is not monotone");
    let tree = run(&["sim", "--describe", "examples/own/measured.csv:tree"]);
    assert!(tree.done().contains("as measured, by ways of 2.50 MiB: 18.00 13.50"), "{}", tree.out);
    assert!(run(&["sim", "--describe", "examples/own/stencil.toml"]).done().contains("phase of 8.0 billion"));
    assert!(run(&["sim", "--describe", "examples/own/two-sockets.toml"]).done().contains("2.50 GHz, 2 nodes"));
}
