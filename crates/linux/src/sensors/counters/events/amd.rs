//! The rows of AMD and Hygon.

use super::{ANY, Event, GENERIC_LLC, Row, Vendor, pair, row};

pub(super) static ROWS: &[Row] = &[
    // AMD, "Preliminary Processor Programming Reference for Family 17h", PMCx043 (demand data cache
    // fills by source): 0x02 same CCX, or another CCX with its home on this die; 0x08 memory near;
    // 0x10 cache of another die; 0x40 memory far. Linux `amdzen1/memory.json` and
    // `amdzen2/memory.json` have the same (`ls_refills_from_sys`). Fills by the hardware prefetcher
    // have an event of their own (PMCx05A) and are not in it. Hygon family 18h is Zen 1.
    // Transfers between CCXs of a die are not counted apart from hits in the own CCX.
    row(
        "AMD Zen 1 and 2",
        &[Vendor::Amd, Vendor::Hygon],
        0x17..=0x18,
        &[ANY],
        &[pair(Event::Raw(0x5a43), Event::Raw(0x5843))],
    )
    .with_transfers(0x1043),
    // AMD, "Processor Programming Reference for Family 19h Model 01h", PMCx044 (any data cache
    // fills by source, prefetches included): 0x01 own L2, 0x02 same CCX, 0x04 other CCX of the
    // node, 0x08 memory near, 0x10 CCX of another node, 0x40 memory far. Linux
    // `amdzen3/memory.json` (`ls_any_fills_from_sys`). Models as in Linux
    // `arch/x86/kernel/cpu/amd.c`.
    row(
        "AMD Zen 3",
        &[Vendor::Amd],
        0x19..=0x19,
        &[0x00..=0x0f, 0x20..=0x5f],
        &[pair(Event::Raw(0x5e44), Event::Raw(0x5c44))],
    )
    .with_transfers(0x1444),
    // As Zen 3, and 0x80 = extension memory (CXL): Linux `amdzen4/memory.json`,
    // `amdzen5/load-store.json` (`ls_any_fills_from_sys.alternate_memories`), PPR for Family 1Ah
    // Model 02h, section 2.1.16.5.2.
    row(
        "AMD Zen 4 and later",
        &[Vendor::Amd],
        0x19..=u32::MAX,
        &[ANY],
        &[pair(Event::Raw(0xde44), Event::Raw(0xdc44))],
    )
    .with_transfers(0x1444),
    // AMD before Zen (families 10h to 16h): the generic event is L2 misses (7EH/07H,
    // `amd_perfmon_event_map` in Linux `arch/x86/events/amd/core.c`). If there is an L3 (10h, 15h),
    // its misses are a northbridge event of the whole node and cannot be counted by thread; L2
    // misses are an upper bound.
    row("AMD before Zen", &[Vendor::Amd], 0..=0x16, &[ANY], GENERIC_LLC),
];
