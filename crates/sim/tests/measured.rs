//! Checks the published table of 55 programs, if it is available: each program made from it runs
//! alone as it was measured.

// The crate does no I/O, but its tests may read files.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros)]

use isobar_model::Profile;
use isobar_profiles::table;
use isobar_sim::machine::{MachineSpec, find};
use isobar_sim::program::Program;
use isobar_sim::solo::solo;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The published table and the machine that it was measured on.
fn published() -> Option<(BTreeMap<String, Profile>, Arc<MachineSpec>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/pbbcache/metrics.csv");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("SKIPPED: {path} is not there");
        return None;
    };
    Some((table::read("metrics.csv", &text).unwrap(), Arc::new(find("skylake-2x20").unwrap())))
}

/// The published table of 55 programs (PBBCache): each runs alone as it was measured.
#[test]
fn measured_programs_run_alone_as_measured() {
    let Some((read, machine)) = published() else { return };
    assert_eq!(read.len(), 55);
    let program = |profile| Program::measured("metrics.csv", profile, &machine).unwrap();
    let rises = read.values().filter(|profile| !program(profile).mpki.rises().is_empty()).count();
    assert!(rises > 0, "real curves are not all monotone");
    let mut slowdowns = Vec::new();
    for (name, profile) in &read {
        let measured = profile.rows()[10];
        let seen = solo(&Arc::new(program(profile)), &machine).unwrap();
        assert!((seen.ipc / measured.ipc - 1.0).abs() < 0.03, "{name}: IPC {} measured {}", seen.ipc, measured.ipc);
        slowdowns.extend(by_ways(profile, &program(profile), &machine));
        assert!((seen.mpki - measured.llcmpki).abs() < 0.05 * measured.llcmpki + 0.05, "{name}: {seen:?} {measured:?}");
    }
    let error = |part: &f64| (part - 1.0).abs();
    let mean = slowdowns.iter().map(error).sum::<f64>() / isobar_model::num::float_len(slowdowns.len());
    let worst = slowdowns.iter().map(error).fold(0.0, f64::max);
    eprintln!("slowdown by ways, 55 programs: mean error {mean:.4}, worst {worst:.4}");
    assert!(mean < 0.01 && worst < 0.1, "mean error {mean}, worst {worst}");
}

/// The modelled slowdown relative to all ways, divided by the measured one, for each way count.
fn by_ways(profile: &Profile, program: &Program, machine: &MachineSpec) -> Vec<f64> {
    let rows = profile.rows();
    let cpi = |ways| cpi(program, machine, ways);
    let measured = rows.iter().map(|row| rows[10].ipc / row.ipc);
    (1..).zip(measured).map(|(ways, slowdown)| cpi(ways) / cpi(11) / slowdown).collect()
}

fn cpi(program: &Program, machine: &MachineSpec, ways: u32) -> f64 {
    let latency = machine.idle_latency()[0][0].0 * 1e-9 * machine.hertz;
    program.base_cpi + program.mpki.misses(2.5 * 1_048_576.0 * f64::from(ways)) * latency / program.mlp
}

/// The shipped programs that the authors of the table measured are close to the table in slowdown
/// by ways, and in IPC with all ways. They do not match exactly, because a curve of three
/// parameters has no knees.
#[test]
fn shipped_curves_are_near_the_measured_ones() {
    let Some((read, machine)) = published() else { return };
    let suites = isobar_sim::program::suites().unwrap();
    let suite = suites.iter().find(|suite| suite.suite == "SPEC CPU2006 on a Gold 6138").unwrap();
    assert_eq!(suite.program.len(), 24);
    let mut errors = Vec::new();
    for program in &suite.program {
        let rows = read[&program.name].rows();
        let cpi = |ways| cpi(program, &machine, ways);
        for (ways, row) in (1..).zip(rows) {
            let (ours, measured) = (cpi(ways) / cpi(11), rows[10].ipc / row.ipc);
            errors.push((ours - measured).abs());
            assert!((ours - measured).abs() < 0.15, "{} {ways}: {ours} measured {measured}", program.name);
        }
        let ipc = 1.0 / cpi(11);
        assert!((ipc / rows[10].ipc - 1.0).abs() < 0.1, "{}: IPC {ipc}, measured {}", program.name, rows[10].ipc);
    }
    let mean = errors.iter().sum::<f64>() / isobar_model::num::float_len(errors.len());
    eprintln!("slowdown by ways, 24 programs: mean error {mean:.4}");
    assert!(mean < 0.015, "mean error {mean}");
}
