//! What `sim` and `decide` print for everything that ships, as it was when it was last reviewed. A
//! difference is a change of behaviour, which the commit must explain. Renewed by
//! `INSTA_UPDATE=always cargo test --workspace --test it unchanged`.

use crate::support::{isobar, isobar_with, observation, policies};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// The policies that decide without any setting by the user.
fn all() -> Vec<&'static str> {
    policies().into_iter().filter(|name| *name != "fixed").collect()
}

/// A hash of a text (FNV-1a by Fowler, Noll, Vo), to check that all of it is the same.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The workloads of a folder below `examples`, by name.
fn workloads(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    files
}

/// The mean gain of each policy over `linux` on each workload, in per cent, and a hash of the whole
/// document, with the first seed.
fn simulated(folder: &str) -> String {
    let names = all();
    let mut text = format!("{:16}", "");
    names.iter().for_each(|name| write!(text, " {:>8}", &name[..name.len().min(8)]).unwrap());
    for file in workloads(folder) {
        let path = file.to_str().unwrap();
        let said = isobar(&["sim", path, "--policy", &names.join(","), "--schedules", "sampled", "--json"]);
        let document = said.document();
        write!(text, "\n{:16}", file.file_stem().unwrap().to_str().unwrap()).unwrap();
        for policy in document["policies"].as_array().unwrap() {
            write!(text, " {:8.3}", policy["vs_linux_percent"].as_f64().unwrap()).unwrap();
        }
        write!(text, " {:016x}", digest(&said.out)).unwrap();
    }
    text
}

#[test]
fn simulations_of_the_papers_workloads() {
    insta::assert_snapshot!("unchanged-workloads", simulated("workloads"));
}

#[test]
fn simulations_of_the_stress_workloads() {
    insta::assert_snapshot!("unchanged-stress", simulated("stress"));
}

/// Three epochs with the same eight programs. In the third, the miss rates of two programs change.
#[test]
fn decisions_of_every_policy() {
    let first = [150, 120, 50, 40, 30, 1, 1, 0];
    let epochs = [first, first, [1, 120, 50, 40, 30, 1, 140, 0]];
    let mut input = String::new();
    for (time, mpki) in (1..).zip(&epochs) {
        let mut seen = observation(mpki);
        seen["time"] = time.into();
        writeln!(input, "{seen}").unwrap();
    }
    let mut text = String::new();
    for name in all() {
        let said = isobar_with(&["decide", "--policy", name, "-"], &input);
        writeln!(text, "{name}\n{}", said.done().trim_end()).unwrap();
    }
    insta::assert_snapshot!("unchanged-decisions", text);
}
