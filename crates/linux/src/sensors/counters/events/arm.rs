//! Arm. Every core offers a choice of the architecture's common events, and says which it has
//! (PMCEID registers); the kernel makes a file in the PMU's `events` folder for each of these. A
//! number that the core lacks opens all the same and counts nothing, so the names decide wherever
//! sysfs lists any, and numbers stand in for them only for parts that are known to have the event.
//!
//! Numbers: Arm Architecture Reference Manual, common events, and `drivers/perf/arm_pmuv3.c` in
//! Linux: 0x0036 LL_CACHE_RD, 0x0037 LL_CACHE_MISS_RD, 0x002B L3D_CACHE, 0x002A L3D_CACHE_REFILL,
//! 0x0016 L2D_CACHE, 0x0017 L2D_CACHE_REFILL. The generic cache events are the L1
//! (`armv8_pmuv3_perf_map` there).
//!
//! Not in the table, since no figure of isobar is made of them: BUS_ACCESS (0x0019) counts beats of
//! a width that differs by part, and MEM_ACCESS (0x0013) counts loads and stores whatever cache
//! they hit; neither is bytes to or from memory.

use super::{ANY, Event, LlcPair, Row, Vendor, pair, row};
use std::ops::RangeInclusive;

const ARM: &[Vendor] = &[Vendor::Arm];

/// Arm Limited, by `MIDR_EL1` and `CPU implementer`.
const ARM_LIMITED: RangeInclusive<u32> = 0x41..=0x41;

/// From the last level down. A core without an L3 in its cluster has no L3D events; where it has no
/// LL_CACHE events either, its L2 is the last cache that it can count for, and L2 refills are an
/// upper bound of what a cache behind it misses.
const BY_NAME: &[LlcPair] = &[
    pair(Event::Named("ll_cache_rd"), Event::Named("ll_cache_miss_rd")),
    pair(Event::Named("l3d_cache"), Event::Named("l3d_cache_refill")),
    pair(Event::Named("l2d_cache"), Event::Named("l2d_cache_refill")),
];

/// As [`BY_NAME`], of parts that have the LL_CACHE events.
///
/// What these mean is up to the system. Where firmware has set CPUECTLR_EL1.EXTLLC, the last level
/// is the cache of the interconnect (the SLC of a CMN mesh): LL_CACHE_MISS_RD counts reads that
/// were answered by DRAM, another socket or a peer cluster, and LL_CACHE_RD on Neoverse N1 only
/// those that this cache answered, so that misses may exceed references. Where it has not, both
/// repeat the events of the last cache that the core or cluster has: the L3, or without one the L2,
/// whose refills then include what the SLC answers. Which of the two holds cannot be read from
/// Linux. On Neoverse V1 the text says only that they count where EXTLLC is set: an event that
/// never counts is not measured (`sensors/proof.rs`).
const LAST_LEVEL: &[LlcPair] = &[
    pair(Event::Common("ll_cache_rd", 0x36), Event::Common("ll_cache_miss_rd", 0x37)),
    pair(Event::Named("l3d_cache"), Event::Named("l3d_cache_refill")),
    pair(Event::Named("l2d_cache"), Event::Named("l2d_cache_refill")),
];

/// Parts by `tools/perf/pmu-events/arch/arm64/mapfile.csv` in Linux; their events by the folders
/// that it names.
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
