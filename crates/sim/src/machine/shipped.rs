//! The machines of the papers, as data files with the source of every number. This file knows their
//! names and texts; the files say what the numbers mean.

use super::MachineSpec;
use crate::error::SimError;

const MACHINES: &[(&str, &str)] = include!("../../../../machines/list.rs");

/// Names of the machines that ship, ascending.
#[must_use]
pub fn shipped() -> Vec<&'static str> {
    MACHINES.iter().map(|(name, _)| *name).collect()
}

/// The file of a machine that ships, with the source of every number beside it.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    MACHINES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A machine by name.
///
/// # Errors
/// [`SimError::Unknown`] if no machine of that name ships.
pub fn find(name: &str) -> Result<MachineSpec, SimError> {
    let unknown = || SimError::unknown("machines that ship", "machine", "machine", name, &shipped());
    MachineSpec::from_toml(name, text(name).ok_or_else(unknown)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::NodeId;

    /// Nodes; CPUs of each LLC; LLCs; MiB and ways of each LLC; local and farthest latency in ns;
    /// GB/s of a node.
    type Facts = (usize, usize, usize, f64, u32, f64, f64, f64);

    fn facts(name: &str) -> Facts {
        let machine = find(name).unwrap();
        let topology = &machine.topology;
        let (first, size) =
            (&topology.llcs()[0], isobar_model::num::float(topology.llcs()[0].size.unwrap().0) / 1_048_576.0);
        let ns = machine.memory.latency().iter().flatten().map(|seconds| seconds * 1e9);
        let cpus = topology.cpus_of_llc(first.id).unwrap().iter().count();
        (
            topology.nodes().len(),
            cpus,
            topology.llcs().len(),
            size,
            first.ways.unwrap().0,
            machine.memory.latency()[0][0] * 1e9,
            ns.fold(0.0, f64::max),
            machine.memory.resources()[0].capacity / 1e9,
        )
    }

    /// The values that the papers print (docs/design/simulator.md) are pinned: these constants are
    /// not for tuning.
    #[test]
    fn what_the_papers_print_is_what_ships() {
        let check = |name: &str, nodes, cpus, llcs, mib: f64, ways| {
            let seen = facts(name);
            assert_eq!((seen.0, seen.1, seen.2, seen.4), (nodes, cpus, llcs, ways), "{name}");
            assert!((seen.3 - mib).abs() < 1e-9, "{name}");
            seen
        };
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 2e-3, "{a} {b}");
        let nehalem = check("nehalem-2x4", 2, 4, 2, 8.0, 16);
        near(nehalem.5, 50.0);
        near(nehalem.6, 90.0);
        near(nehalem.7, 0.8 * 25.6);
        near(find("nehalem-2x4").unwrap().topology.nodes()[0].max_bandwidth.unwrap().0, 0.8 * 25.6e9);
        check("barcelona-4x4", 4, 4, 4, 2.0, 32);
        check("barcelona-2x4", 2, 4, 2, 2.0, 32);
        let haswell = check("haswell-2x18", 2, 36, 2, 45.0, 20);
        near(haswell.6 / haswell.5, 319.0 / 229.0);
        let westmere = check("westmere-8x10", 8, 20, 8, 30.0, 24);
        near(westmere.6 / westmere.5, 888.0 / 290.0);
        near(check("skylake-2x20", 2, 20, 2, 27.5, 11).7, 76.0);
        check("rome-ccx-2x4", 2, 4, 2, 16.0, 16);
        check("rome-ccx-3x4", 3, 4, 3, 16.0, 16);
        for (name, nodes, cpus, llcs, mib, ways, factor) in [
            ("itanium-2x4", 2, 1, 8, 4.0, 4, 2.1),
            ("xeon-4x8", 4, 16, 4, 18.0, 24, 1.5),
            ("opteron-8x8", 8, 8, 8, 8.0, 64, 2.8),
        ] {
            let seen = check(name, nodes, cpus, llcs, mib, ways);
            near(seen.6 / seen.5, factor);
        }
    }

    /// N-MASS and Divide&Content ran with SMT off or do not mention it; CAMM and the page-usage
    /// paper ran with SMT on.
    #[test]
    fn hardware_threads_are_as_in_the_papers() {
        for name in shipped() {
            let both = ["haswell-2x18", "westmere-8x10", "xeon-4x8", "opteron-8x8"].contains(&name);
            assert_eq!(find(name).unwrap().smt.threads, if both { 2 } else { 1 }, "{name}");
        }
    }

    /// CAMM, table III, in cycles.
    #[test]
    fn the_eight_sockets_have_the_printed_latencies() {
        let machine = find("westmere-8x10").unwrap();
        let cycles = |from: usize, to: usize| machine.memory.latency()[from][to] * machine.hertz;
        for (from, to, printed) in [(0, 0, 290.0), (0, 1, 454.0), (2, 6, 888.0), (4, 1, 862.0), (6, 5, 729.0)] {
            assert!((cycles(from, to) - printed).abs() < 0.2, "{from} {to} {}", cycles(from, to));
        }
    }

    #[test]
    fn dies_of_like_number_are_neighbours() {
        let machine = find("opteron-8x8").unwrap();
        let distance = |a, b| *machine.topology.distances().unwrap().get(NodeId(a), NodeId(b)).unwrap();
        assert_eq!((distance(0, 1), distance(0, 6), distance(0, 7)), (20, 20, 28));
        assert_eq!((machine.memory.route(0, 6).len(), machine.memory.route(0, 7).len()), (1, 2));
    }

    #[test]
    fn every_machine_says_where_its_numbers_come_from() {
        for name in shipped() {
            let text = text(name).unwrap();
            assert!(find(name).is_ok() && text.starts_with("# "), "{name}");
            let lines =
                text.lines().filter(|line| line.contains(" = ") && line.contains("_ns") || line.contains("ghz"));
            lines.for_each(|line| assert!(line.contains('#'), "{name}: `{line}` has no source"));
        }
    }
}
