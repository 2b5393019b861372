//! Parses sampled addresses in a perf ring buffer, as pure bytes. Only samples of the form that
//! isobar asks for ([`SAMPLE_TYPE`]) are read.

use crate::perf::records::{field, records};
use perf_event_open_sys::bindings;

/// The sample type that [`parse`] understands: the data address of a memory access (or page fault);
/// 0 if the hardware knew none.
pub const SAMPLE_TYPE: u32 = bindings::PERF_SAMPLE_ADDR;

/// The addresses of the samples in the bytes of a ring buffer.
pub fn parse(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let samples = records(bytes).filter(|(kind, _)| *kind == bindings::PERF_RECORD_SAMPLE);
    samples.filter_map(|(_, body)| Some(u64::from_ne_bytes(field(body, 0)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::records::tests::record;
    use proptest::prelude::*;

    fn written(address: u64) -> Vec<u8> {
        record(bindings::PERF_RECORD_SAMPLE, &address.to_ne_bytes())
    }

    #[test]
    fn samples_are_read_and_other_records_stepped_over() {
        let lost = record(bindings::PERF_RECORD_LOST, &[0; 16]);
        let bytes = [written(0x1000), lost, written(0x7fff_0000_2000)].concat();
        assert_eq!(parse(&bytes).collect::<Vec<_>>(), [0x1000, 0x7fff_0000_2000]);
        assert_eq!(parse(&bytes[..bytes.len() - 1]).count(), 1);
    }

    #[test]
    fn a_record_of_no_size_ends_the_reading() {
        let bytes = [record(bindings::PERF_RECORD_SAMPLE, &[]), vec![0; 64]].concat();
        assert_eq!(parse(&bytes).count(), 0);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(samples in prop::collection::vec(any::<u64>(), 0..20)) {
            let bytes = samples.iter().copied().flat_map(written).collect::<Vec<_>>();
            prop_assert_eq!(parse(&bytes).collect::<Vec<_>>(), samples);
        }

    }
}
