//! Which hardware events tell the truth about the last-level cache, by CPU family: a table of data, each row with its
//! source. The kernel's generic `cache-misses` means the last-level cache on Intel, the L2 on AMD and the L1 on Arm; rows
//! exist where it is not what isobar means. A CPU in no row gets the generic events: it is never refused.
//!
//! Here an LLC miss is a line that came from beyond the LLC of the core: another LLC, local or remote memory.

use super::cpu_model::{CpuModel, Vendor};
use perf_event_open_sys::bindings;
use std::ops::RangeInclusive;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// instructions retired
    Instructions,
    /// CPU cycles
    Cycles,
    /// references to the last-level cache
    LlcReferences,
    /// misses of the last-level cache
    LlcMisses,
}

/// How an event is named to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A file in the PMU's `events` folder in sysfs; present only where the CPU has the event.
    Named(&'static str),
    /// The PMU's raw `config`: on x86 event select in bits 0-7, umask in bits 8-15.
    Raw(u64),
    /// `PERF_TYPE_HARDWARE`.
    Generic(u32),
    /// `PERF_TYPE_SOFTWARE`.
    Software(u32),
}

/// References and misses of one cache, which belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlcPair {
    /// references
    pub references: Event,
    /// misses
    pub misses: Event,
}

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// For people.
    pub name: &'static str,
    vendors: &'static [Vendor],
    families: RangeInclusive<u32>,
    models: &'static [RangeInclusive<u32>],
    /// Instructions retired.
    pub instructions: Event,
    /// Cycles.
    pub cycles: Event,
    /// The first pair that the PMU has is used.
    pub llc: &'static [LlcPair],
}

const INSTRUCTIONS: Event = Event::Generic(bindings::PERF_COUNT_HW_INSTRUCTIONS);
const CYCLES: Event = Event::Generic(bindings::PERF_COUNT_HW_CPU_CYCLES);
const GENERIC_LLC: &[LlcPair] = &[LlcPair {
    references: Event::Generic(bindings::PERF_COUNT_HW_CACHE_REFERENCES),
    misses: Event::Generic(bindings::PERF_COUNT_HW_CACHE_MISSES),
}];
const ANY: RangeInclusive<u32> = 0..=u32::MAX;

const fn pair(references: Event, misses: Event) -> LlcPair {
    LlcPair { references, misses }
}

/// Later rows are more general; the first that matches is used.
static TABLE: [Row; 7] = [
    // AMD, "Preliminary Processor Programming Reference for Family 17h", PMCx043 (demand data cache fills by source):
    // 0x02 same CCX, or another CCX with its home on this die; 0x08 memory near; 0x10 cache of another die; 0x40 memory
    // far. Linux `amdzen1/memory.json` and `amdzen2/memory.json` have the same (`ls_refills_from_sys`). Fills by the
    // hardware prefetcher have an event of their own (PMCx05A) and are not in it. Hygon family 18h is Zen 1.
    Row {
        name: "AMD Zen 1 and 2",
        vendors: &[Vendor::Amd, Vendor::Hygon],
        families: 0x17..=0x18,
        models: &[ANY],
        instructions: INSTRUCTIONS,
        cycles: CYCLES,
        llc: &[pair(Event::Raw(0x5a43), Event::Raw(0x5843))],
    },
    // AMD, "Processor Programming Reference for Family 19h Model 01h", PMCx044 (any data cache fills by source, prefetches
    // included): 0x01 own L2, 0x02 same CCX, 0x04 other CCX of the node, 0x08 memory near, 0x10 CCX of another node, 0x40
    // memory far. Linux `amdzen3/memory.json` (`ls_any_fills_from_sys`). Models as in Linux `arch/x86/kernel/cpu/amd.c`.
    Row {
        name: "AMD Zen 3",
        vendors: &[Vendor::Amd],
        families: 0x19..=0x19,
        models: &[0x00..=0x0f, 0x20..=0x5f],
        instructions: INSTRUCTIONS,
        cycles: CYCLES,
        llc: &[pair(Event::Raw(0x5e44), Event::Raw(0x5c44))],
    },
    // As Zen 3, and 0x80 = extension memory (CXL): Linux `amdzen4/memory.json`, `amdzen5/load-store.json`
    // (`ls_any_fills_from_sys.alternate_memories`), PPR for Family 1Ah Model 02h, section 2.1.16.5.2.
    Row {
        name: "AMD Zen 4 and later",
        vendors: &[Vendor::Amd],
        families: 0x19..=u32::MAX,
        models: &[ANY],
        instructions: INSTRUCTIONS,
        cycles: CYCLES,
        llc: &[pair(Event::Raw(0xde44), Event::Raw(0xdc44))],
    },
    // AMD before Zen (families 10h to 16h): the generic event is L2 misses (7EH/07H, `amd_perfmon_event_map` in Linux
    // `arch/x86/events/amd/core.c`). Where there is an L3 (10h, 15h), its misses are a northbridge event of the whole node
    // and cannot be counted by thread; L2 misses are an upper bound.
    Row {
        name: "AMD before Zen",
        vendors: &[Vendor::Amd],
        families: 0..=0x16,
        models: &[ANY],
        instructions: INSTRUCTIONS,
        cycles: CYCLES,
        llc: GENERIC_LLC,
    },
    // Intel SDM volume 3, "Architectural Performance Monitoring", events 2EH/4FH and 2EH/41H: LLC references and misses on
    // every CPU since Core, on the P and the E cores of hybrid ones; the generic events are these
    // (`intel_perfmon_event_map` in Linux `arch/x86/events/intel/core.c`).
    Row {
        name: "Intel",
        vendors: &[Vendor::Intel],
        families: ANY,
        models: &[ANY],
        instructions: INSTRUCTIONS,
        cycles: CYCLES,
        llc: GENERIC_LLC,
    },
    // Arm Architecture Reference Manual, common events 0x0036 LL_CACHE_RD, 0x0037 LL_CACHE_MISS_RD, 0x002B/0x002A L3D_CACHE
    // and refill, 0x0016/0x0017 L2D_CACHE and refill. The generic ones are the L1 (`armv8_pmuv3_perf_map` in Linux
    // `drivers/perf/arm_pmuv3.c`). sysfs shows a name only where the core implements it; a raw event that it lacks reads 0.
    Row {
        name: "Arm",
        vendors: &[Vendor::Arm],
        families: ANY,
        models: &[ANY],
        instructions: INSTRUCTIONS,
        cycles: CYCLES,
        llc: &[
            pair(Event::Named("ll_cache_rd"), Event::Named("ll_cache_miss_rd")),
            pair(Event::Named("l3d_cache"), Event::Named("l3d_cache_refill")),
            pair(Event::Named("l2d_cache"), Event::Named("l2d_cache_refill")),
            pair(Event::Raw(0x36), Event::Raw(0x37)),
        ],
    },
    // Everything else: what the kernel's port calls cache references and misses.
    Row {
        name: "generic",
        vendors: &[Vendor::Intel, Vendor::Amd, Vendor::Hygon, Vendor::Arm, Vendor::Other],
        families: ANY,
        models: &[ANY],
        instructions: INSTRUCTIONS,
        cycles: CYCLES,
        llc: GENERIC_LLC,
    },
];

/// The stand-in for tests on machines without a PMU, never chosen by itself: task clock (nanoseconds) for instructions, CPU
/// clock for cycles, minor faults for references, page faults for misses.
static SOFTWARE: Row = Row {
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

/// The row for a CPU.
#[must_use]
pub fn row_for(cpu: &CpuModel) -> &'static Row {
    let fits = |row: &&Row| {
        row.vendors.contains(&cpu.vendor)
            && row.families.contains(&cpu.family)
            && row.models.iter().any(|models| models.contains(&cpu.model))
    };
    TABLE.iter().find(fits).unwrap_or(&TABLE[TABLE.len() - 1])
}

/// The row of the software stand-in.
#[must_use]
pub fn software_row() -> &'static Row {
    &SOFTWARE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(vendor: Vendor, family: u32, model: u32) -> &'static Row {
        row_for(&CpuModel { vendor, family, model, hypervisor: false })
    }

    #[test]
    fn every_family_finds_its_row() {
        let cases = [
            (Vendor::Amd, 0x10, 0x02, "AMD before Zen"),
            (Vendor::Amd, 0x17, 0x01, "AMD Zen 1 and 2"),
            (Vendor::Amd, 0x17, 0x31, "AMD Zen 1 and 2"),
            (Vendor::Hygon, 0x18, 0x00, "AMD Zen 1 and 2"),
            (Vendor::Amd, 0x19, 0x01, "AMD Zen 3"),
            (Vendor::Amd, 0x19, 0x21, "AMD Zen 3"),
            (Vendor::Amd, 0x19, 0x11, "AMD Zen 4 and later"),
            (Vendor::Amd, 0x19, 0x61, "AMD Zen 4 and later"),
            (Vendor::Amd, 0x1a, 0x02, "AMD Zen 4 and later"),
            (Vendor::Amd, 0x1f, 0x00, "AMD Zen 4 and later"),
            (Vendor::Intel, 6, 85, "Intel"),
            (Vendor::Intel, 19, 1, "Intel"),
            (Vendor::Arm, 0, 0, "Arm"),
            (Vendor::Hygon, 0x19, 0, "generic"),
            (Vendor::Other, 0, 0, "generic"),
        ];
        for (vendor, family, model, name) in cases {
            assert_eq!(row(vendor, family, model).name, name, "{vendor:?} family {family:#x} model {model:#x}");
        }
    }

    /// Misses are the sources beyond the own LLC; references are these and the own LLC.
    #[test]
    fn raw_masks_are_the_sums_of_their_sources() {
        let (l3, ccx, near, cache, far, cxl) = (0x02u64, 0x04u64, 0x08u64, 0x10u64, 0x40u64, 0x80u64);
        let check = |family, model, select: u64, beyond: u64| {
            let expected = pair(Event::Raw((beyond | l3) << 8 | select), Event::Raw(beyond << 8 | select));
            assert_eq!(row(Vendor::Amd, family, model).llc, [expected]);
        };
        check(0x17, 0x31, 0x43, near | cache | far);
        check(0x19, 0x01, 0x44, ccx | near | cache | far);
        check(0x1a, 0x02, 0x44, ccx | near | cache | far | cxl);
    }

    #[test]
    fn arm_prefers_names_from_the_last_level_down() {
        let arm = row(Vendor::Arm, 0, 0);
        assert_eq!(arm.llc[0].misses, Event::Named("ll_cache_miss_rd"));
        assert_eq!(arm.llc.last().unwrap().misses, Event::Raw(0x37));
    }

    #[test]
    fn the_stand_in_is_in_no_cpus_row() {
        assert!(TABLE.iter().all(|row| row.name != SOFTWARE.name));
        assert!(TABLE.iter().all(|row| !matches!(row.instructions, Event::Software(_))));
    }
}
