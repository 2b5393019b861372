//! The hardware counters on a real PMU: what isobar says that threads executed, against programs
//! whose instructions are known (`tests/arm/programs`). Where a guest of one CPU runs under
//! `-icount shift=1`, an instruction takes two cycles of one nanosecond: every count is known
//! beforehand.

mod exact;
mod group;
mod limits;
mod missing;
mod reported;
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

/// Several CPUs and nodes: `inst_retired` of QEMU sums over all CPUs, and the virtual clock with
/// it, so ratios alone are known; and there is somewhere to move threads to, so what is planned
/// from counts can be seen.
pub fn ratios(suite: &mut Suite) {
    group::ratios(suite);
    missing::plans(suite);
}

/// No instructions to count.
pub fn cycles_only(suite: &mut Suite) {
    missing::cycles_only(suite);
}
