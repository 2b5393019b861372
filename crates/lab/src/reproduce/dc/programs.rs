//! The programs of the paper's workloads, and the class of each on a machine. It knows names; the
//! simulator's library describes the programs.
//!
//! *Single-threaded* (SPEC CPU2006 and CPU2017): the 42 programs that the authors' published lists
//! of workloads name (PBBCache, `workloads*.txt`). *Multithreaded*: 19 programs of PARSEC 3, the
//! NAS parallel benchmarks, SPEC OMP2012 and Rodinia that split their data among equal threads.
//! There are 61 in all, of six suites, as in section VI-A. The paper's own 19 are in figure 9,
//! which our text of the paper lacks; the text names two of them, SP and myocyte (figure 3).

use crate::error::LabError;
use isobar_model::CacheClass;
use isobar_partition::class::{ClassLimits, classify};
use isobar_sim::machine::MachineSpec;
use isobar_sim::program::Library;

/// The single-threaded programs.
pub(super) const SPEC: [&str; 42] = [
    "GemsFDTD06",
    "astar06",
    "bwaves06",
    "bzip206",
    "cactusADM06",
    "gamess06",
    "gobmk06",
    "gromacs06",
    "h264ref06",
    "hmmer06",
    "lbm06",
    "leslie3d06",
    "libquantum06",
    "mcf06",
    "milc06",
    "namd06",
    "omnetpp06",
    "perlbench06",
    "povray06",
    "sjeng06",
    "soplex06",
    "sphinx306",
    "tonto06",
    "xalancbmk06",
    "blender17",
    "cactuBSSN17",
    "cam417",
    "deepsjeng17",
    "exchange217",
    "fotonik3d17",
    "imagick17",
    "lbm17",
    "leela17",
    "nab17",
    "namd17",
    "omnetpp17",
    "perlbench17",
    "povray17",
    "roms17",
    "x264ref17",
    "xalancbmk17",
    "xz17",
];

/// The multithreaded programs.
pub(super) const PARALLEL: [&str; 19] = [
    "blackscholes",
    "bodytrack",
    "canneal",
    "fluidanimate",
    "freqmine",
    "streamcluster",
    "swaptions",
    "cg-omp",
    "ep-omp",
    "lu-omp",
    "mg-omp",
    "sp-omp",
    "botsalgn",
    "ilbdc",
    "nab-omp",
    "cfd",
    "lavamd",
    "myocyte",
    "srad",
];

/// The single-threaded programs by class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pools {
    pub streaming: Vec<&'static str>,
    pub sensitive: Vec<&'static str>,
    pub light: Vec<&'static str>,
}

impl Pools {
    /// Sorts the programs by the class that LFOC+'s rule gives them on a machine.
    pub fn on(machine: &MachineSpec, library: &Library) -> Result<Self, LabError> {
        let mut pools = Self::default();
        for name in SPEC {
            match class(machine, library, name)? {
                CacheClass::Streaming => pools.streaming.push(name),
                CacheClass::Sensitive => pools.sensitive.push(name),
                CacheClass::LightSharing => pools.light.push(name),
            }
        }
        Ok(pools)
    }
}

/// The class of one thread of a program, from runs alone on the machine with one way, two ways, and
/// so on.
pub(super) fn class(machine: &MachineSpec, library: &Library, name: &str) -> Result<CacheClass, LabError> {
    let (slowdown, llcmpkc) = curves(machine, library, name)?;
    Ok(classify(&slowdown, &llcmpkc, ClassLimits::default()))
}

/// Slowdown relative to all ways, and misses per 1000 cycles, by ways.
pub(super) fn curves(machine: &MachineSpec, library: &Library, name: &str) -> Result<(Vec<f64>, Vec<f64>), LabError> {
    let program = library.find("Divide&Content", "program", name)?;
    let steady = isobar_sim::steady(machine, None, &[&program]);
    let ways =
        machine.topology.llcs().first().and_then(|llc| llc.ways).map_or(0, |ways| isobar_model::num::index(ways.0));
    let paces = (1..=ways).map(|ways| steady.alone(0, ways)).collect::<Result<Vec<_>, _>>();
    let paces = paces.map_err(isobar_sim::SimError::from)?;
    let best = paces.iter().map(|pace| pace.seconds).fold(f64::INFINITY, f64::min);
    let misses = |pace: &isobar_contention::Pace| 1000.0 * pace.misses / (pace.seconds * machine.hertz);
    Ok((paces.iter().map(|pace| pace.seconds / best).collect(), paces.iter().map(misses).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_partition::class::critical_ways;
    use isobar_sim::machine::find;
    use isobar_sim::program::shipped;

    /// Table II, on the machine of the simulations and on the machine of the measurements.
    const PRINTED: [(CacheClass, &[&str]); 3] = [
        (CacheClass::Sensitive, &["astar06", "mcf06", "omnetpp17", "soplex06", "xalancbmk17"]),
        (CacheClass::Streaming, &["fotonik3d17", "GemsFDTD06", "lbm17", "milc06"]),
        (CacheClass::LightSharing, &["gamess06", "povray17", "x264ref17"]),
    ];

    #[test]
    fn classes_are_the_printed_ones_on_both_machines() {
        let library = shipped().unwrap();
        for machine in ["rome-ccx-2x4", "skylake-2x20"] {
            let spec = find(machine).unwrap();
            for (printed, names) in PRINTED {
                for name in names {
                    let seen = class(&spec, &library, name).unwrap();
                    assert_eq!(seen, printed, "{name} on {machine}: {:?}", curves(&spec, &library, name).unwrap());
                }
            }
        }
    }

    /// II-C and figure 2: soplex and mcf need at least 6 of 11 ways for a slowdown below 5 %;
    /// imagick shares lightly.
    #[test]
    fn critical_points_on_skylake_are_the_printed_ones() {
        let (library, machine) = (shipped().unwrap(), find("skylake-2x20").unwrap());
        for name in ["soplex06", "mcf06"] {
            let (slowdown, _) = curves(&machine, &library, name).unwrap();
            assert!(critical_ways(&slowdown, ClassLimits::default()) >= 6, "{name} {slowdown:?}");
        }
        assert_eq!(class(&machine, &library, "imagick17").unwrap(), CacheClass::LightSharing);
    }

    /// VI-B: xalancbmk and mcf are super-devils (above 24 MPKI) with less than 3 ways of 2.5 MB,
    /// devils (3 to 24) with many.
    #[test]
    fn dino_classes_on_skylake_cross_where_printed() {
        let library = shipped().unwrap();
        let mpki =
            |name: &str, ways: f64| 1000.0 * library.find("", "", name).unwrap().mpki.misses(ways * 2.5 * 1_048_576.0);
        for name in ["mcf06", "xalancbmk06", "xalancbmk17"] {
            assert!(mpki(name, 2.0) > 24.0 || mpki(name, 1.0) > 24.0, "{name} {}", mpki(name, 2.0));
            assert!((3.0..24.0).contains(&mpki(name, 11.0)), "{name} {}", mpki(name, 11.0));
        }
    }

    #[test]
    fn there_are_61_programs_and_some_of_every_class() {
        let library = shipped().unwrap();
        let names: std::collections::BTreeSet<_> = SPEC.into_iter().chain(PARALLEL).collect();
        assert_eq!(names.len(), 61);
        assert!(PARALLEL.iter().all(|name| library.find("", "", name).is_ok_and(|program| program.threads > 1)));
        for machine in ["rome-ccx-2x4", "skylake-2x20"] {
            let pools = Pools::on(&find(machine).unwrap(), &library).unwrap();
            eprintln!("{machine}: {pools:?}");
            assert!(pools.streaming.len() >= 5 && pools.sensitive.len() >= 8 && pools.light.len() >= 12, "{pools:?}");
        }
    }
}
