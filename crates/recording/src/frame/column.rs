//! A column of numbers, stored byte by byte: first the lowest byte of every number, then the next
//! byte. The upper bytes of differences are nearly all alike and compress to almost nothing, which
//! bytes of a variable-length encoding would not.

use serde::{Deserialize, Serialize};

/// Numbers as planes of bytes. A number near zero, even a negative one, is encoded as a small
/// number (zigzag coding).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Planes", into = "Planes")]
pub struct Column(pub Vec<i64>);

/// The form in which a column is written.
#[derive(Serialize, Deserialize)]
struct Planes {
    /// Bytes per number.
    width: u8,
    /// Plane after plane.
    bytes: Vec<u8>,
}

/// Bytes of the widest number.
const WIDEST: usize = 8;

impl From<Column> for Planes {
    fn from(Column(numbers): Column) -> Self {
        let codes: Vec<[u8; WIDEST]> = numbers.iter().map(|number| zigzag(*number).to_le_bytes()).collect();
        let used = |code: &[u8; WIDEST]| code.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
        let width = codes.iter().map(used).max().unwrap_or(0);
        let bytes = (0..width).flat_map(|plane| codes.iter().map(move |code| code[plane])).collect();
        Self { width: u8::try_from(width).unwrap_or(0), bytes }
    }
}

impl From<Planes> for Column {
    /// If the planes have different lengths, which no writer produces, the numbers that are
    /// complete are returned.
    fn from(Planes { width, bytes }: Planes) -> Self {
        let width = usize::from(width).min(WIDEST);
        let Some(length) = bytes.len().checked_div(width) else { return Self::default() };
        let number = |at: usize| {
            let mut code = [0; WIDEST];
            code.iter_mut().take(width).enumerate().for_each(|(plane, byte)| *byte = bytes[plane * length + at]);
            straight(u64::from_le_bytes(code))
        };
        Self((0..length).map(number).collect())
    }
}

const fn zigzag(number: i64) -> u64 {
    (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned()
}

const fn straight(code: u64) -> i64 {
    (code >> 1).cast_signed() ^ (code & 1).cast_signed().wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn planes_are_as_wide_as_the_widest_number() {
        // 1 is 2, -1 is 1, 300 is 600 = 0x258.
        let planes = Planes::from(Column(vec![1, -1, 300]));
        assert_eq!((planes.width, &planes.bytes[..]), (2, &[2, 1, 0x58, 0, 0, 2][..]));
        assert_eq!(Planes::from(Column(vec![0, 0])).bytes, [0, 0], "how many there are is known by one plane");
        assert_eq!(Planes::from(Column::default()).width, 0);
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers in proptest::collection::vec(any::<i64>(), 0..20)) {
            prop_assert_eq!(&Column::from(Planes::from(Column(numbers.clone()))).0, &numbers);
        }

        #[test]
        fn any_planes_are_read(width: u8, bytes in proptest::collection::vec(any::<u8>(), 0..50)) {
            let _ = Column::from(Planes { width, bytes });
        }
    }
}
