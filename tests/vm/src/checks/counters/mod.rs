//! The hardware counters on a real PMU: what isobar reports that threads executed, compared with
//! programs whose instructions are known (`tests/arm/programs`). If a guest with one CPU runs under
//! `-icount shift=1`, an instruction takes two cycles of one nanosecond, so every count is known
//! beforehand.

mod exact;
mod group;
mod limits;
mod missing;
pub mod reported;
mod rights;
mod shared;

use crate::suite::Suite;

/// One CPU: absolute counts.
pub fn exact(suite: &mut Suite) {
    exact::checks(suite);
    group::checks(suite);
    shared::checks(suite);
    limits::checks(suite);
    rights::checks(suite);
}

/// Several CPUs and nodes: QEMU's `inst_retired` sums over all CPUs, as does the virtual clock, so
/// only ratios are known. There are other nodes to move threads to, so the plans made from the
/// counts can be checked.
pub fn ratios(suite: &mut Suite) {
    group::ratios(suite);
    missing::plans(suite);
}

/// There are no instructions to count.
pub fn cycles_only(suite: &mut Suite) {
    missing::cycles_only(suite);
}
