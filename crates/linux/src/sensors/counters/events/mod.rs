//! Says which hardware events count the last-level cache correctly, by CPU family, in a table of
//! data whose rows give their sources. The kernel's generic `cache-misses` means the last-level
//! cache on Intel, the L2 on AMD and the L1 on Arm; rows exist where it is not what isobar means. A
//! CPU in no row gets the generic events: it is never refused.
//!
//! Here an LLC miss is a line that came from beyond the LLC of the core: from another LLC, or from
//! local or remote memory.

mod amd;
mod arm;

use crate::kernel::cpu_model::{CpuModel, Vendor};
use isobar_model::{Count, Counters};
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
    /// those of them that another last-level cache answered
    CacheTransfers,
}

impl Role {
    /// Every role, in its order.
    pub const ALL: [Self; 5] =
        [Self::Instructions, Self::Cycles, Self::LlcReferences, Self::LlcMisses, Self::CacheTransfers];

    /// The place of its count in a reading.
    pub const fn slot(self, counters: &mut Counters) -> &mut Option<Count> {
        match self {
            Self::Instructions => &mut counters.instructions,
            Self::Cycles => &mut counters.cycles,
            Self::LlcReferences => &mut counters.llc_references,
            Self::LlcMisses => &mut counters.llc_misses,
            Self::CacheTransfers => &mut counters.cache_transfers,
        }
    }

    /// Its count in a reading.
    #[must_use]
    pub const fn of(self, mut counters: Counters) -> Option<Count> {
        *self.slot(&mut counters)
    }
}

/// How an event is specified to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A file in the PMU's `events` folder in sysfs; it exists only if the CPU has the event.
    Named(&'static str),
    /// An event of the Arm architecture that the CPU in question is known to have. It is looked up
    /// by its file if the PMU lists any events, and by its number if sysfs shows no list (a
    /// container may hide it).
    Common(&'static str, u16),
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
    /// Its name for people.
    pub name: &'static str,
    vendors: &'static [Vendor],
    families: RangeInclusive<u32>,
    models: &'static [RangeInclusive<u32>],
    /// Instructions retired.
    pub instructions: Event,
    /// Cycles.
    pub cycles: Event,
    /// The pairs of LLC events, in order of preference: the first that the PMU has is used.
    pub llc: &'static [LlcPair],
    /// LLC misses that another LLC answered, if the CPU can count them.
    pub transfers: Option<Event>,
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

impl Event {
    /// Its name in sysfs, if it has one.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Named(name) | Self::Common(name, _) => Some(name),
            Self::Raw(_) | Self::Generic(_) | Self::Software(_) => None,
        }
    }
}

/// A row that counts instructions and cycles by their generic events, which mean what they say
/// everywhere.
const fn row(
    name: &'static str,
    vendors: &'static [Vendor],
    families: RangeInclusive<u32>,
    models: &'static [RangeInclusive<u32>],
    llc: &'static [LlcPair],
) -> Row {
    Row { name, vendors, families, models, instructions: INSTRUCTIONS, cycles: CYCLES, llc, transfers: None }
}

impl Row {
    /// The row of a CPU that can also count which LLC misses another LLC answered.
    const fn with_transfers(self, event: u64) -> Self {
        Self { transfers: Some(Event::Raw(event)), ..self }
    }
}

static INTEL: &[Row] = &[
    // Intel, "Perfmon event files" (perfmon/SKX, CLX, ICX, SPR, EMR, GNR), also in Linux
    // `tools/perf/pmu-events/arch/x86/{skylakex,cascadelakex,icelakex,sapphirerapids,
    // emeraldrapids,graniterapids}/cache.json`: MEM_LOAD_L3_MISS_RETIRED, D3H, REMOTE_HITM 04H and
    // REMOTE_FWD 08H: retired loads whose line came from a cache of another socket, changed there
    // or not. Stores are not in it. Models: `arch/x86/include/asm/intel-family.h`.
    row(
        "Intel Xeon, Skylake and later",
        &[Vendor::Intel],
        6..=6,
        &[0x55..=0x55, 0x6a..=0x6a, 0x6c..=0x6c, 0x8f..=0x8f, 0xcf..=0xcf, 0xad..=0xae],
        GENERIC_LLC,
    )
    .with_transfers(0x0cd3),
    // Intel SDM volume 3, "Architectural Performance Monitoring", events 2EH/4FH and 2EH/41H: LLC
    // references and misses on every CPU since Core, on the P and the E cores of hybrid ones; the
    // generic events are these (`intel_perfmon_event_map` in Linux `arch/x86/events/intel/core.c`).
    row("Intel", &[Vendor::Intel], ANY, &[ANY], GENERIC_LLC),
];

/// The row for all other CPUs: what the kernel's port calls cache references and misses.
static ANY_CPU: Row = row("generic", &[], ANY, &[ANY], GENERIC_LLC);

/// The stand-in for tests on machines without a PMU, which is never chosen automatically: task
/// clock (nanoseconds) for instructions, CPU clock for cycles, minor faults for references, page
/// faults for misses.
static SOFTWARE: Row = Row {
    instructions: Event::Software(bindings::PERF_COUNT_SW_TASK_CLOCK),
    cycles: Event::Software(bindings::PERF_COUNT_SW_CPU_CLOCK),
    ..row("software stand-in", &[], ANY, &[], SOFTWARE_LLC)
};
const SOFTWARE_LLC: &[LlcPair] = &[pair(
    Event::Software(bindings::PERF_COUNT_SW_PAGE_FAULTS_MIN),
    Event::Software(bindings::PERF_COUNT_SW_PAGE_FAULTS),
)];

/// All rows. Later rows are more general; the first that matches is used.
fn table() -> impl Iterator<Item = &'static Row> {
    [amd::ROWS, INTEL, arm::ROWS].into_iter().flatten()
}

/// The row for a CPU.
#[must_use]
pub fn row_for(cpu: &CpuModel) -> &'static Row {
    let fits = |row: &&Row| {
        row.vendors.contains(&cpu.vendor)
            && row.families.contains(&cpu.family)
            && row.models.iter().any(|models| models.contains(&cpu.model))
    };
    table().find(fits).unwrap_or(&ANY_CPU)
}

/// The row of the software stand-in.
#[must_use]
pub fn software_row() -> &'static Row {
    &SOFTWARE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(vendor: Vendor, family: u32, model: u32) -> &'static Row {
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
            (Vendor::Intel, 6, 0x4f, "Intel"),
            (Vendor::Intel, 6, 0x55, "Intel Xeon, Skylake and later"),
            (Vendor::Intel, 6, 0x8f, "Intel Xeon, Skylake and later"),
            (Vendor::Intel, 6, 0x97, "Intel"),
            (Vendor::Intel, 19, 1, "Intel"),
            (Vendor::Arm, 0, 0, "Arm"),
            (Vendor::Arm, 0x41, 0xd0c, "Arm Neoverse N1"),
            (Vendor::Arm, 0x41, 0xd40, "Arm Neoverse V1"),
            (Vendor::Arm, 0x41, 0xd49, "Arm Neoverse N2"),
            (Vendor::Arm, 0x41, 0xd4f, "Arm Neoverse V2"),
            (Vendor::Arm, 0x41, 0xd08, "Arm"),
            (Vendor::Arm, 0xc0, 0xd0c, "Arm"),
            (Vendor::Hygon, 0x19, 0, "generic"),
            (Vendor::Other, 0, 0, "generic"),
        ];
        for (vendor, family, model, name) in cases {
            assert_eq!(row_of(vendor, family, model).name, name, "{vendor:?} family {family:#x} model {model:#x}");
        }
    }

    /// Misses are the sum of the sources beyond the own LLC; references are these and the own LLC,
    /// transfers those of them that are caches.
    #[test]
    fn raw_masks_are_the_sums_of_their_sources() {
        let (l3, ccx, near, cache, far, cxl) = (0x02u64, 0x04u64, 0x08u64, 0x10u64, 0x40u64, 0x80u64);
        let check = |family, model, select: u64, memory: u64, caches: u64| {
            let (row, beyond) = (row_of(Vendor::Amd, family, model), memory | caches);
            let expected = pair(Event::Raw((beyond | l3) << 8 | select), Event::Raw(beyond << 8 | select));
            assert_eq!((row.llc, row.transfers), (&[expected][..], Some(Event::Raw(caches << 8 | select))));
        };
        check(0x17, 0x31, 0x43, near | far, cache);
        check(0x19, 0x01, 0x44, near | far, ccx | cache);
        check(0x1a, 0x02, 0x44, near | far | cxl, ccx | cache);
        let (modified, forwarded) = (0x04u64, 0x08u64);
        assert_eq!(row_of(Vendor::Intel, 6, 0x6a).transfers, Some(Event::Raw((modified | forwarded) << 8 | 0xd3)));
    }

    #[test]
    fn arm_goes_by_names_from_the_last_level_down() {
        let arm = row_of(Vendor::Arm, 0x41, 0xd08);
        let misses: Vec<_> = arm.llc.iter().map(|pair| pair.misses).collect();
        assert_eq!(misses, ["ll_cache_miss_rd", "l3d_cache_refill", "l2d_cache_refill"].map(Event::Named));
    }

    /// A number opens on every Arm CPU, and counts nothing if the CPU lacks the event.
    #[test]
    fn numbers_stand_in_for_names_only_where_the_part_is_known() {
        for row in arm::ROWS {
            let by_number = |event: Event| matches!(event, Event::Common(..));
            let pairs = row.llc.iter().filter(|pair| by_number(pair.misses) || by_number(pair.references)).count();
            let known = row.models != [ANY];
            assert_eq!(pairs, usize::from(known), "{}", row.name);
            assert!(row.llc.iter().all(|pair| !matches!(pair.misses, Event::Raw(_))), "{}", row.name);
            assert_eq!(by_number(row.llc[0].misses), known, "after a number that opens nothing else is tried");
        }
    }

    #[test]
    fn the_stand_in_is_in_no_cpus_row() {
        assert!(table().all(|row| !matches!(row.instructions, Event::Software(_))));
    }
}
