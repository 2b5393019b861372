//! Intel.

use super::{ANY, CYCLES, GENERIC_LLC, INSTRUCTIONS, Row, Vendor};

pub(super) static ROWS: &[Row] = &[
    // Intel SDM volume 3, "Architectural Performance Monitoring", events 2EH/4FH and 2EH/41H: LLC
    // references and misses on every CPU since Core, on the P and the E cores of hybrid ones; the
    // generic events are these (`intel_perfmon_event_map` in Linux `arch/x86/events/intel/core.c`).
    Row {
        name: "Intel",
        vendors: &[Vendor::Intel],
        families: ANY,
        models: &[ANY],
        instructions: INSTRUCTIONS,
        cycles: CYCLES,
        llc: GENERIC_LLC,
    },
];
