//! CPUs that no other row knows, and the stand-in for tests.

use super::{ANY, CYCLES, Event, GENERIC_LLC, INSTRUCTIONS, Row, Vendor, pair};
use perf_event_open_sys::bindings;

/// Everything else: what the kernel's port calls cache references and misses.
pub(super) static ANY_CPU: Row = Row {
    name: "generic",
    vendors: &[Vendor::Intel, Vendor::Amd, Vendor::Hygon, Vendor::Arm, Vendor::Other],
    families: ANY,
    models: &[ANY],
    instructions: INSTRUCTIONS,
    cycles: CYCLES,
    llc: GENERIC_LLC,
};

/// The stand-in for tests on machines without a PMU, never chosen by itself: task clock
/// (nanoseconds) for instructions, CPU clock for cycles, minor faults for references, page faults
/// for misses.
pub(super) static SOFTWARE: Row = Row {
    name: "software stand-in",
    vendors: &[],
    families: ANY,
    models: &[],
    instructions: Event::Software(bindings::PERF_COUNT_SW_TASK_CLOCK),
    cycles: Event::Software(bindings::PERF_COUNT_SW_CPU_CLOCK),
    llc: &[pair(
        Event::Software(bindings::PERF_COUNT_SW_PAGE_FAULTS_MIN),
        Event::Software(bindings::PERF_COUNT_SW_PAGE_FAULTS),
    )],
};
