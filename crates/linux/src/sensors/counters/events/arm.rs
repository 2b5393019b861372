//! The rows of Arm. Every core offers a choice of the architecture's common events, and says which
//! it has (PMCEID registers). The kernel makes a file in the PMU's `events` folder for each of
//! these. An event number that the core lacks opens all the same and counts nothing. So the names
//! decide if sysfs lists any, and numbers stand in for names only on parts that are known to have
//! the event.
//!
//! Numbers: Arm Architecture Reference Manual, common events, and `drivers/perf/arm_pmuv3.c` in
//! Linux: 0x0036 LL_CACHE_RD, 0x0037 LL_CACHE_MISS_RD, 0x002B L3D_CACHE, 0x002A L3D_CACHE_REFILL,
//! 0x0016 L2D_CACHE, 0x0017 L2D_CACHE_REFILL. The generic cache events are the L1
//! (`armv8_pmuv3_perf_map` there).
//!
//! Two events are not in the table, because no figure of isobar is computed from them: BUS_ACCESS
//! (0x0019) counts beats of a width that differs by part, and MEM_ACCESS (0x0013) counts loads and
//! stores whatever cache they hit. Neither is bytes to or from memory.

use super::{ANY, Event, LlcPair, Row, Vendor, pair, row};
use std::ops::RangeInclusive;

const ARM: &[Vendor] = &[Vendor::Arm];

/// Arm Limited, by `MIDR_EL1` and `CPU implementer`.
const ARM_LIMITED: RangeInclusive<u32> = 0x41..=0x41;

/// The pairs from the last level down. A core without an L3 in its cluster has no L3D events. If it
/// has no LL_CACHE events either, its L2 is the last cache that it can count for, and L2 refills
/// are an upper bound of the misses of a cache behind it.
const BY_NAME: &[LlcPair] = &[
    pair(Event::Named("ll_cache_rd"), Event::Named("ll_cache_miss_rd")),
    pair(Event::Named("l3d_cache"), Event::Named("l3d_cache_refill")),
    pair(Event::Named("l2d_cache"), Event::Named("l2d_cache_refill")),
];

/// The same as [`BY_NAME`], for parts that have the LL_CACHE events.
///
/// What these events mean depends on the system. If firmware has set CPUECTLR_EL1.EXTLLC, the last
/// level is the cache of the interconnect (the SLC of a CMN mesh). Then LL_CACHE_MISS_RD counts
/// reads that were answered by DRAM, another socket or a peer cluster. LL_CACHE_RD on Neoverse N1
/// counts only the reads that this cache answered, so misses may exceed references. If firmware has
/// not set it, both events repeat those of the last cache that the core or cluster has: the L3, or
/// without one the L2, whose refills then include what the SLC answers. Linux does not show which
/// of the two cases holds. On Neoverse V1 the text says only that the events count if EXTLLC is
/// set: an event that never counts is not measured (`sensors/counters/proof.rs`).
const LAST_LEVEL: &[LlcPair] = &[
    pair(Event::Common("ll_cache_rd", 0x36), Event::Common("ll_cache_miss_rd", 0x37)),
    pair(Event::Named("l3d_cache"), Event::Named("l3d_cache_refill")),
    pair(Event::Named("l2d_cache"), Event::Named("l2d_cache_refill")),
];

/// The parts are those of `tools/perf/pmu-events/arch/arm64/mapfile.csv` in Linux; their events are
/// in the folders that it names.
pub(super) static ROWS: &[Row] = &[
    // Linux `arm64/arm/cortex-a76-n1/cache.json`; the text on EXTLLC is that of the Cortex-A76 TRM
    // (100798), section "PMU events", whose core N1 shares. SPE: `arm64/arm/neoverse-n1/spe.json`.
    row("Arm Neoverse N1", ARM, ARM_LIMITED, &[0xd0c..=0xd0c], LAST_LEVEL),
    // Linux `arm64/arm/neoverse-v1/ll_cache.json`, `l3_cache.json`.
    row("Arm Neoverse V1", ARM, ARM_LIMITED, &[0xd40..=0xd40], LAST_LEVEL),
    // Linux `arm64/arm/neoverse-n2-v2/ll_cache.json`, `l3_cache.json`.
    row("Arm Neoverse N2", ARM, ARM_LIMITED, &[0xd49..=0xd49], LAST_LEVEL),
    row("Arm Neoverse V2", ARM, ARM_LIMITED, &[0xd4f..=0xd4f], LAST_LEVEL),
    // All others, of any implementer.
    row("Arm", ARM, ANY, &[ANY], BY_NAME),
];
