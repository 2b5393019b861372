//! Compares the programs, running alone, with what the papers print about them. A constant that is
//! changed to bring a comparison nearer to a paper fails here.

use crate::host::SimMachine;
use crate::machine::{MachineSpec, find};
use crate::program::{Library, shipped};
use crate::solo::{Solo, solo};
use crate::workload::Workload;
use isobar_model::{Machine, Observation, Seconds};
use std::collections::BTreeMap;
use std::sync::Arc;

const MIB: f64 = 1_048_576.0;

fn on(machine: &str) -> Arc<MachineSpec> {
    Arc::new(find(machine).unwrap())
}

fn alone(library: &Library, name: &str, machine: &Arc<MachineSpec>) -> Solo {
    solo(&library.find("", "", name).unwrap(), machine).unwrap()
}

fn mpki(library: &Library, name: &str, mib: f64) -> f64 {
    library.find("", "", name).unwrap().mpki.misses(mib * MIB) * 1000.0
}

#[track_caller]
fn near(what: &str, value: f64, printed: f64, band: f64) {
    assert!((value - printed).abs() <= band, "{what}: {value}, printed {printed}, band {band}");
}

/// The fourteen programs of N-MASS, table 2.
const NMASS: [&str; 14] = [
    "mcf",
    "milc",
    "libquantum",
    "soplex",
    "lbm",
    "omnetpp",
    "sphinx3",
    "gcc",
    "namd",
    "gamess",
    "povray",
    "perlbench",
    "gobmk",
    "h264ref",
];

fn nehalem() -> BTreeMap<&'static str, Solo> {
    let (library, machine) = (shipped().unwrap(), on("nehalem-2x4"));
    let more = ["GemsFDTD", "astar", "leslie3d", "bwaves", "bzip2", "calculix"];
    NMASS.into_iter().chain(more).map(|name| (name, alone(&library, name, &machine))).collect()
}

/// N-MASS, 4.1: "a broad range of NUMA penalties (between 1.0 and 1.46)".
#[test]
fn penalties_on_nehalem_span_the_printed_range() {
    let all = nehalem();
    let of = |name: &str| all[name].numa_penalty.unwrap();
    let penalties: Vec<_> = NMASS.iter().map(|name| of(name)).collect();
    near("least", penalties.iter().copied().fold(f64::INFINITY, f64::min), 1.0, 0.01);
    near("greatest", penalties.iter().copied().fold(0.0, f64::max), 1.46, 0.02);
    // Section 2: with mcf remote the mean slowdown is 11 % and lbm's is 1 %, so mcf's is 21 %. With
    // lbm remote, lbm loses almost 30 %.
    near("mcf", of("mcf"), 1.21, 0.02);
    near("lbm", of("lbm"), 1.28, 0.02);
    for name in ["povray", "gamess", "namd", "gobmk", "perlbench", "h264ref"] {
        near(name, of(name), 1.01, 0.02);
    }
}

/// N-MASS, 4.5: slope 0.015 and intercept 1.05 over the programs above 1 MPKI, without the outlier
/// mcf. N-MASS, 3.2: R^2 0.64 over all programs.
#[test]
fn penalties_on_nehalem_lie_along_the_printed_line() {
    let all = nehalem();
    let point = |solo: &Solo| (solo.mpki, solo.numa_penalty.unwrap());
    let bound: Vec<_> =
        all.iter().filter(|(name, solo)| **name != "mcf" && solo.mpki >= 1.0).map(|(_, s)| point(s)).collect();
    let (intercept, slope, _) = line(&bound);
    near("slope", slope, 0.015, 0.0015);
    near("intercept", intercept, 1.05, 0.02);
    let (_, _, r2) = line(&all.values().map(point).collect::<Vec<_>>());
    near("R^2", r2, 0.64, 0.2);
    let (mpki, penalty) = point(&all["mcf"]);
    assert!(1.05 + 0.015 * mpki - penalty > 0.3, "mcf is no outlier: {mpki} {penalty}");
}

/// Least squares: intercept, slope, coefficient of determination.
fn line(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let count = isobar_model::num::float_len(points.len());
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - x, p.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|a, _| a * a), sum(&|a, b| a * b), sum(&|_, b| b * b));
    (y - xy / xx * x, xy / xx, xy * xy / (xx * yy))
}

/// N-MASS, 2 (figure 3.b, cases b and c): the remote program causes 56 % of the traffic if it is
/// lbm and 33 % if it is mcf. With the penalties above, lbm's bandwidth alone is therefore 1.7
/// times mcf's.
#[test]
fn lbm_and_mcf_share_bandwidth_as_printed() {
    let all = nehalem();
    near("lbm / mcf", all["lbm"].bandwidth / all["mcf"].bandwidth, 1.7, 0.2);
}

/// N-MASS, 3.1 (figure 4): soplex misses 35 % more with four clones on the cache and 19 % more with
/// two. Section 2: mcf misses 47 % more when it shares with lbm.
#[test]
fn less_cache_costs_what_is_printed() {
    let library = shipped().unwrap();
    let more = |name: &str, mib: f64| mpki(&library, name, mib) / mpki(&library, name, 8.0) - 1.0;
    near("soplex, a quarter", more("soplex", 2.0), 0.35, 0.01);
    near("soplex, a half", more("soplex", 4.0), 0.19, 0.01);
    near("mcf, a half", more("mcf", 4.0), 0.47, 0.06);
}

/// DINO, 2.1: solo misses per 1000 instructions on Barcelona. Devils have above 15, soft devils 2
/// to 15, turtles below 2.
#[test]
fn solo_classes_on_barcelona_are_the_printed_ones() {
    let (library, machine) = (shipped().unwrap(), on("barcelona-4x4"));
    let solo = |name: &str| alone(&library, name, &machine).mpki;
    for devil in ["mcf", "omnetpp", "milc", "lbm", "soplex", "leslie3d"] {
        assert!((15.0..100.0).contains(&solo(devil)), "{devil} {}", solo(devil));
    }
    for soft in ["gcc", "bwaves", "bzip2"] {
        assert!((2.0..15.0).contains(&solo(soft)), "{soft} {}", solo(soft));
    }
    for turtle in ["povray", "calculix", "h264ref", "gamess", "namd"] {
        assert!(solo(turtle) < 2.0, "{turtle} {}", solo(turtle));
    }
}

/// DINO, 3.2 and 3.3.1: most changes of an MPI process's miss rate do not change its class.
#[test]
fn mpi_processes_change_and_mostly_stay_devils() {
    let library = shipped().unwrap();
    for name in ["leslie3d-mpi", "lammps-mpi", "gapgeofem-mpi", "socorro-mpi", "lu-mpi"] {
        let program = library.find("", "", name).unwrap();
        let devil = |factor: f64| mpki(&library, name, 2.0) * factor >= 2.0;
        let quiet = program.phase.iter().filter(|phase| !devil(phase.mpki_factor));
        let quiet: f64 = quiet.map(|phase| phase.instructions_billion).sum();
        assert!(program.phase.len() > 1 && quiet * 1e9 < 0.2 * program.cycle().unwrap(), "{name}");
    }
}

/// CAMM, table V, read as a share of 2.5 MB: 18 copies on the 45 MB of a Haswell socket, one per
/// core.
#[test]
fn misses_of_the_virtual_machines_are_the_printed_ones() {
    for (name, printed) in [
        ("mcf", 66.9),
        ("npb-is", 43.51),
        ("npb-ua", 42.72),
        ("omnetpp", 23.01),
        ("swim", 22.162),
        ("lbm", 21.62),
        ("libquantum", 19.52),
        ("milc", 18.28),
        ("GemsFDTD", 13.33),
        ("hpccg", 11.81),
        ("equake", 7.24),
        ("specjbb", 6.48),
        ("cc", 2.45),
        ("mgrid", 1.95),
        ("scc", 2.45),
        ("povray", 0.07),
    ] {
        near(name, eighteen(name), printed, 0.01 * printed + 0.005);
    }
}

/// Misses per 1000 instructions of one of 18 copies on the 18 cores of a socket.
fn eighteen(name: &str) -> f64 {
    let app = |cpu| format!("[[app]]\nprogram = \"{name}\"\nthreads = 1\ncpu = {cpu}\nmemory_node = 0\n");
    let apps: String = (0..18).map(app).collect();
    let workload = Workload::from_toml("w.toml", &format!("machine = \"haswell-2x18\"\n{apps}")).unwrap();
    let mut machine = SimMachine::new(&workload, 1);
    machine.wait(Seconds(10.0)).unwrap();
    let before = machine.sample().unwrap();
    machine.wait(Seconds(1.0)).unwrap();
    let seen = Observation::between(&before, &machine.sample().unwrap());
    seen.processes[17].threads[0].mpki().unwrap().0
}

/// Slowdown on the Gold 6138 by ways, relative to all eleven ways, and misses per 1000 cycles.
fn by_ways(library: &Library, name: &str) -> Vec<(f64, f64)> {
    let (program, machine) = (library.find("", "", name).unwrap(), on("skylake-2x20"));
    let cpi =
        |mpki: f64| program.base_cpi + mpki / 1000.0 * machine.memory.latency()[0][0] * machine.hertz / program.mlp;
    let at = |ways: u32| mpki(library, name, 2.5 * f64::from(ways));
    (1..=11).map(|ways| (cpi(at(ways)) / cpi(at(11)), at(ways) / cpi(at(ways)))).collect()
}

/// Divide&Content, table II, by the rule of LFOC+ (section II.B).
#[test]
fn classes_on_skylake_are_the_printed_ones() {
    let library = shipped().unwrap();
    for name in ["astar", "mcf", "mcf17", "omnetpp17", "soplex", "xalancbmk17"] {
        assert!(by_ways(&library, name)[1].0 >= 1.05, "{name} is sensitive: {:?}", by_ways(&library, name));
    }
    for name in ["fotonik3d17", "GemsFDTD", "lbm17", "milc"] {
        let seen = by_ways(&library, name);
        assert!(seen.iter().all(|(slowdown, misses)| *slowdown < 1.06 && *misses >= 14.0), "{name} streams: {seen:?}");
    }
    for name in ["gamess", "povray17", "x264ref17"] {
        let seen = by_ways(&library, name);
        assert!(seen[1].0 < 1.05 && seen[0].1 < 14.0, "{name} shares lightly: {seen:?}");
    }
}

/// Divide&Content, II-C: soplex and mcf need at least 6 of 11 ways to stay below a slowdown of 5 %.
/// VI-B: mcf and xalancbmk are above 24 MPKI in less than 3 ways, and are devils (3 to 24) in many.
#[test]
fn space_that_programs_need_on_skylake_is_the_printed_one() {
    let library = shipped().unwrap();
    for name in ["soplex", "mcf"] {
        assert!(by_ways(&library, name)[4].0 >= 1.05, "{name} needs six: {:?}", by_ways(&library, name));
    }
    for name in ["mcf", "mcf17", "xalancbmk17"] {
        assert!(mpki(&library, name, 7.4) > 24.0, "{name} {}", mpki(&library, name, 7.4));
        assert!((3.0..24.0).contains(&mpki(&library, name, 27.5)), "{name} {}", mpki(&library, name, 27.5));
    }
}

/// The constants of the fourteen programs, pinned: `base_cpi`, `mlp`, misses in 8 MB. The file
/// gives the sources.
#[test]
fn constants_are_pinned() {
    let library = shipped().unwrap();
    let pinned = [
        (1.62, 7.51, 38.21),
        (0.617, 5.9, 17.28),
        (0.297, 4.98, 17.67),
        (0.66, 4.69, 22.31),
        (0.52, 6.78, 16.72),
        (1.1, 3.53, 15.54),
        (0.637, 4.6, 4.56),
        (0.76, 3.59, 6.01),
        (0.65, 2.0, 0.10),
        (0.6, 1.5, 0.02),
        (0.8, 1.5, 0.04),
        (0.6, 2.5, 0.40),
        (0.95, 1.5, 0.40),
        (0.6, 2.0, 0.36),
    ];
    for (name, (cpi, mlp, misses)) in NMASS.iter().zip(pinned) {
        let program = library.find("", "", name).unwrap();
        assert_eq!((program.base_cpi, program.mlp), (cpi, mlp), "{name}: fixed by solo behaviour, not for tuning");
        near(name, mpki(&library, name, 8.0), misses, 0.006);
    }
}
