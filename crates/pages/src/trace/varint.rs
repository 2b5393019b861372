//! Whole numbers in as few bytes as they need: seven bits per byte, low bits first, with the eighth
//! bit set if more bytes follow (LEB128).

/// Bytes of the longest number.
const MOST: usize = 10;

/// Appends a number.
pub fn put(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(low(value) | 0x80);
        value >>= 7;
    }
    into.push(low(value));
}

const fn low(value: u64) -> u8 {
    (value & 0x7f) as u8
}

/// A signed difference as an unsigned number that is small if the difference is small.
pub const fn zigzag(from: u64, to: u64) -> u64 {
    let difference = to.wrapping_sub(from).cast_signed();
    ((difference << 1) ^ (difference >> 63)).cast_unsigned()
}

/// The inverse of [`zigzag`].
pub const fn unzigzag(from: u64, value: u64) -> u64 {
    from.wrapping_add((value >> 1) ^ (value & 1).wrapping_neg())
}

/// Reads numbers from bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl Cursor<'_> {
    /// The next number; `None` at the end, and for a number of more than 64 bits.
    #[inline]
    pub fn next(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        if *first < 0x80 {
            self.0 = rest;
            return Some(u64::from(*first));
        }
        self.long()
    }

    fn long(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for (at, byte) in self.0.iter().take(MOST).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if at == MOST - 1 && bits > 1 {
                return None;
            }
            value |= bits << (7 * at);
            if *byte < 0x80 {
                self.0 = &self.0[at + 1..];
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        let bytes = |value| {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            bytes
        };
        assert_eq!((bytes(0), bytes(127), bytes(128), bytes(300)), (vec![0], vec![127], vec![128, 1], vec![0xac, 2]));
        assert_eq!(bytes(u64::MAX).len(), MOST);
        assert_eq!(Cursor(&[0x80]).next(), None, "cut off");
        assert_eq!(Cursor(&[0xff; 10]).next(), None, "no end");
        assert_eq!(Cursor(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]).next(), None, "65 bits");
        assert_eq!((zigzag(5, 4), zigzag(5, 6), zigzag(0, u64::MAX)), (1, 2, 1));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(values in proptest::collection::vec(any::<u64>(), 0..20)) {
            let mut bytes = Vec::new();
            values.iter().for_each(|value| put(&mut bytes, *value));
            let mut cursor = Cursor(&bytes);
            let read: Vec<u64> = std::iter::from_fn(|| cursor.next()).collect();
            prop_assert_eq!(read, values);
        }

        #[test]
        fn differences_come_back(from in any::<u64>(), to in any::<u64>()) {
            prop_assert_eq!(unzigzag(from, zigzag(from, to)), to);
        }
    }
}
