//! Sampled addresses in a perf ring buffer, as pure bytes. Only samples of the form that isobar
//! asks for (`PERF_SAMPLE_TID | PERF_SAMPLE_ADDR`) are read.

use crate::perf::records::{field, records};
use isobar_model::{Pid, Tid};
use perf_event_open_sys::bindings;

/// A memory access (or page fault) that was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressSample {
    /// the process
    pub pid: Pid,
    /// the thread
    pub tid: Tid,
    /// the data address; 0 where the hardware knew none
    pub address: u64,
}

/// The sample type that [`parse`] understands.
pub const SAMPLE_TYPE: u32 = bindings::PERF_SAMPLE_TID | bindings::PERF_SAMPLE_ADDR;

/// pid (u32), tid (u32), address (u64)
const SAMPLE: usize = 16;

/// The samples in the bytes of a ring buffer.
pub fn parse(bytes: &[u8]) -> impl Iterator<Item = AddressSample> + '_ {
    let samples = records(bytes).filter(|(kind, _)| *kind == bindings::PERF_RECORD_SAMPLE);
    samples.filter_map(|(_, body)| sample(body))
}

fn sample(body: &[u8]) -> Option<AddressSample> {
    let body = body.get(..SAMPLE)?;
    Some(AddressSample {
        pid: Pid(u32::from_ne_bytes(field(body, 0)?)),
        tid: Tid(u32::from_ne_bytes(field(body, 4)?)),
        address: u64::from_ne_bytes(field(body, 8)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::records::HEADER;
    use proptest::prelude::*;

    fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let size = u16::try_from(HEADER + body.len()).unwrap();
        [&kind.to_ne_bytes()[..], &0u16.to_ne_bytes(), &size.to_ne_bytes(), body].concat()
    }

    fn written(sample: AddressSample) -> Vec<u8> {
        let body = [&sample.pid.0.to_ne_bytes()[..], &sample.tid.0.to_ne_bytes(), &sample.address.to_ne_bytes()];
        record(bindings::PERF_RECORD_SAMPLE, &body.concat())
    }

    #[test]
    fn samples_are_read_and_other_records_stepped_over() {
        let sample = |address| AddressSample { pid: Pid(7), tid: Tid(9), address };
        let lost = record(bindings::PERF_RECORD_LOST, &[0; 16]);
        let bytes = [written(sample(0x1000)), lost, written(sample(0x7fff_0000_2000))].concat();
        assert_eq!(parse(&bytes).collect::<Vec<_>>(), [sample(0x1000), sample(0x7fff_0000_2000)]);
        assert_eq!(parse(&bytes[..bytes.len() - 1]).count(), 1);
    }

    #[test]
    fn a_record_of_no_size_ends_the_reading() {
        let bytes = [record(bindings::PERF_RECORD_SAMPLE, &[]), vec![0; 64]].concat();
        assert_eq!(parse(&bytes).count(), 0);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(samples in prop::collection::vec(any::<(u32, u32, u64)>(), 0..20)) {
            let samples: Vec<_> = samples.into_iter()
                .map(|(pid, tid, address)| AddressSample { pid: Pid(pid), tid: Tid(tid), address }).collect();
            let bytes = samples.iter().copied().flat_map(written).collect::<Vec<_>>();
            prop_assert_eq!(parse(&bytes).collect::<Vec<_>>(), samples);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(parse(&bytes).count() <= bytes.len() / (HEADER + SAMPLE));
        }
    }
}
