//! Trace files. An accepted file gives the same result read part by part as summed, and a file that
//! was cut gives what the parts before the cut contain.

use crate::check::{accepted, one_line};
use isobar_pages::PageProfile;
use isobar_pages::trace::{Part, Reader};

/// Maximum number of counts of a profile here, because a fuzzer has less memory than a machine.
const MOST_COUNTS: usize = 1 << 20;

/// Sets the checksum of each block, which no mutation would get right.
fn seal(bytes: &mut [u8]) {
    let mut at = 12;
    while let Some(block) = bytes.get_mut(at..).filter(|block| block.len() >= 13) {
        let stored = u32::from_le_bytes([block[1], block[2], block[3], block[4]]) as usize;
        let Some(end) = stored.checked_add(13).filter(|end| *end <= block.len()) else { return };
        let mut sum = crc32fast::Hasher::new();
        sum.update(&block[..9]);
        sum.update(&block[13..end]);
        block[9..13].copy_from_slice(&sum.finalize().to_le_bytes());
        at += end;
    }
}

/// Checks one input.
pub fn run(input: &[u8]) {
    let mut bytes = input.to_vec();
    seal(&mut bytes);
    check(&bytes);
}

fn check(bytes: &[u8]) {
    let summed = PageProfile::read_at_most(bytes, MOST_COUNTS);
    let Some(reader) = accepted(Reader::new(bytes)) else { return };
    let mut accesses = 0_u128;
    let mut whole = true;
    for part in reader {
        match part {
            Ok(Part::Slice(slice)) => {
                accesses += slice.rows.iter().map(|row| u128::from(row.loads) + u128::from(row.stores)).sum::<u128>();
            }
            Ok(_) => {}
            Err(why) => {
                one_line(&why.to_string());
                whole = false;
            }
        }
    }
    // Sums saturate, so they may be smaller.
    if let Some(profile) = accepted(summed) {
        let found: u128 = profile.usage.rows().flat_map(|(_, row)| row).map(|count| u128::from(*count)).sum();
        assert!(whole && found <= accesses, "{found} of {accesses}");
        assert!(found == accesses || accesses > u128::from(u64::MAX));
    }
}
