//! How many misses a core of a real machine may have outstanding, and how many instructions it may
//! execute beyond the oldest load. The machines' files do not say this, so the figures stand here,
//! with their sources. This file knows nothing else of a machine.
//!
//! Neither figure is scaled, because a scaled machine keeps its latencies in cycles.

use numasim_model::Overlap;

/// Families of processors: how the names of their machines begin, and their core.
const LINES: [(&str, Overlap); 5] = [
    // Eight misses of the L1 (miss address buffers of family 10h and its successors), a reorder
    // buffer of 72 macro-operations (AMD, software optimization guide for family 10h, 40546).
    ("barcelona", Overlap { misses: 8, instructions: 72 }),
    // Ten line fill buffers and 192 operations (Intel 64 optimization manual, Haswell).
    ("haswell", Overlap { misses: 10, instructions: 192 }),
    // The same manual, Skylake: 224 operations. The line fill buffers are those of Haswell, an
    // estimate.
    ("skylake", Overlap { misses: 10, instructions: 224 }),
    // Zen 2 has 22 (AMD, software optimization guide for family 17h, models 30h and later), and 224
    // operations.
    ("rome", ZEN_2),
    ("epyc-7302", ZEN_2),
];
const ZEN_2: Overlap = Overlap { misses: 22, instructions: 224 };

/// The core of a machine, by the machine's name. All machines that are not listed have Nehalem's
/// core: Xeons of that family and, as an estimate, Itanium, whose loads wait only where their
/// values are used, and Opteron's modules.
#[must_use]
pub fn overlap(machine: &str) -> Overlap {
    let known = LINES.iter().find(|(line, _)| machine.starts_with(line));
    known.map_or(Overlap::NEHALEM, |(_, core)| core.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_processors_has_its_own() {
        let misses = |machine| overlap(machine).misses;
        assert_eq!([misses("nehalem-2x4"), misses("westmere-8x10"), misses("xeon-4x8")], [10, 10, 10]);
        assert_eq!([misses("barcelona-4x4"), misses("rome-ccx-2x4"), misses("epyc-7302-2x4")], [8, 22, 22]);
        assert_eq!((overlap("haswell-2x18").instructions, overlap("skylake-2x20").instructions), (192, 224));
    }

    /// No machine that ships waits for each of its misses.
    #[test]
    fn all_machines_that_ship_overlap() {
        for name in crate::machine::shipped() {
            let core = overlap(name);
            assert!(core.misses > 1 && core.instructions >= 72, "{name}");
        }
    }
}
