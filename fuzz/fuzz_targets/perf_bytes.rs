//! What the kernel writes into perf descriptors and ring buffers, as bytes. No more is read than
//! was written.

#![no_main]

use isobar_linux::sensors::{counters::group, memory::records};
use libfuzzer_sys::fuzz_target;

/// A record header with a sample of an address.
const SAMPLE: usize = 16;

fuzz_target!(|bytes: &[u8]| {
    let values = group::parse_group(bytes).count();
    assert!(values <= bytes.len().saturating_sub(24) / 16, "{values} values");
    let samples = records::parse(bytes).count();
    assert!(samples <= bytes.len() / SAMPLE, "{samples} samples");
});
