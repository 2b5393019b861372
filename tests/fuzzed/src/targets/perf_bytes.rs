//! What the kernel writes into perf descriptors and ring buffers, as bytes. No more is read than
//! was written. The records of a program that is sampled for a trace are read in the same way.

use isobar_linux::sensors::memory::program::records as program;
use isobar_linux::sensors::memory::program::records::RecordKind;
use isobar_linux::sensors::{counters::group, memory::records};

/// The size of a record header with a sample of an address.
const SAMPLE: usize = 16;
/// The size of the shortest record of a program: a header, process, thread and time.
const OF_PROGRAM: usize = 24;

/// Checks one input.
pub fn run(bytes: &[u8]) {
    let values = group::parse_group(bytes).count();
    assert!(values <= bytes.len().saturating_sub(24) / 16, "{values} values");
    let samples = records::parse(bytes).count();
    assert!(samples <= bytes.len() / SAMPLE, "{samples} samples");
    let (mut found, mut path_bytes) = (0, 0);
    for record in program::parse(bytes) {
        found += 1;
        if let RecordKind::Mapped { path, .. } = record.what {
            // A byte that is not text becomes the three bytes of the replacement character.
            path_bytes += path.len();
            assert!(!path.contains('\0'));
        }
    }
    assert!(found <= bytes.len() / OF_PROGRAM, "{found} records");
    assert!(path_bytes <= 3 * bytes.len(), "{path_bytes} bytes of paths");
}
