//! Checks that every parser reads or refuses any text that the kernel's files may hold. As in the
//! fuzz targets, every parser is given every input, because similar lines occur in all of the
//! files.

use crate::actuators::pages::mappings::{pages_on, parse_maps};
use crate::kernel::schemata::Schemata;
use crate::kernel::{numa_maps, stat};
use crate::perf::records::HEADER;
use crate::sensors::counters::group::parse_group;
use crate::sensors::memory::records;
use isobar_model::NodeId;
use proptest::prelude::*;

/// Any bytes, and text that is almost right for one of the parsers.
fn input() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        "[0-9a-fN=: \n]{0,80}".prop_map(String::into_bytes),
        "[L3MB:=;0-9a-f \n]{0,60}|.{0,40}".prop_map(String::into_bytes),
        "[0-9a-f]{1,16}-?[0-9a-f]{0,16}[ \\PC]{0,60}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_input_is_read_or_refused(bytes in input()) {
        let _ = (stat::parse(&bytes), stat::number(&bytes));
        let _ = numa_maps::parse(&bytes).map(|mappings| numa_maps::total(&mappings, 4));
        prop_assert!(parse_group(&bytes).count() <= bytes.len() / 16);
        prop_assert!(records::parse(&bytes).count() <= bytes.len() / (HEADER + 8));
        let text = String::from_utf8_lossy(&bytes);
        let _ = (Schemata::parse(&text), pages_on(&text, NodeId(0), 4096));
        prop_assert!(parse_maps(&text, 4096).iter().all(|mapping| !mapping.pages.is_empty()));
    }
}
