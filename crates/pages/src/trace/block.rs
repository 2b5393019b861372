//! Blocks, the units of a trace file. Each block is self-contained, so a file is readable while it
//! is written, and after it was cut off.
//!
//! ```text
//! kind u8, stored bytes u32, plain bytes u32, CRC-32 u32, then the stored bytes
//! ```
//!
//! Numbers are little-endian. The checksum covers kind, lengths and stored bytes. The stored bytes
//! are an LZ4 block. If that would not be shorter, they are the plain bytes, and both lengths are
//! equal.

use std::io::{self, Read};

/// Bytes before the stored ones.
pub const HEAD: usize = 13;
/// Maximum number of plain bytes of a block.
pub const MOST: usize = 64 << 20;
/// Maximum number of plain bytes that one stored byte of LZ4 can expand to: the length of a copy
/// continues as long as bytes are 255.
const UNPACKS_TO: usize = 255;

/// What a block contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A header, as JSON; the first block.
    Header = 1,
    /// A thread, as JSON.
    Thread = 2,
    /// A region, as JSON.
    Region = 3,
    /// A slice, as columns.
    Slice = 4,
    /// The end, as JSON; the last block.
    End = 5,
    /// Where the kernel had placed pages, as columns; from version 2 on.
    Placed = 6,
}

impl Kind {
    const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Header,
            2 => Self::Thread,
            3 => Self::Region,
            4 => Self::Slice,
            5 => Self::End,
            6 => Self::Placed,
            _ => return None,
        })
    }
}

/// Packs a block; `into` is overwritten. `None` if the block is too long.
pub fn pack(kind: Kind, plain: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let length = u32::try_from(plain.len()).ok().filter(|_| plain.len() <= MOST)?;
    into.clear();
    into.resize(HEAD + lz4_flex::block::get_maximum_output_size(plain.len()), 0);
    let stored = match lz4_flex::block::compress_into(plain, &mut into[HEAD..]) {
        Ok(stored) if stored < plain.len() => stored,
        _ => {
            into[HEAD..HEAD + plain.len()].copy_from_slice(plain);
            plain.len()
        }
    };
    into.truncate(HEAD + stored);
    into[0] = kind as u8;
    into[1..5].copy_from_slice(&u32::try_from(stored).ok()?.to_le_bytes());
    into[5..9].copy_from_slice(&length.to_le_bytes());
    let sum = checksum(&into[..9], &into[HEAD..]);
    into[9..HEAD].copy_from_slice(&sum.to_le_bytes());
    Some(())
}

fn checksum(head: &[u8], stored: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(stored);
    sum.finalize()
}

/// The result of reading a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A block of this kind that takes this number of bytes in the file; its plain bytes are in the
    /// buffer.
    Block(Kind, u64),
    /// The file ends here.
    Over,
    /// The file ends within the block.
    Cut,
    /// The block is damaged.
    Damaged(&'static str),
}

/// Buffers that are reused for every block.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    stored: Vec<u8>,
    /// The plain bytes of the block.
    pub plain: Vec<u8>,
}

/// Reads the next block.
///
/// # Errors
/// An error of the reader.
pub fn read(from: &mut impl Read, buffers: &mut Buffers) -> io::Result<Found> {
    let mut head = [0; HEAD];
    match fill(from, &mut head)? {
        0 => return Ok(Found::Over),
        HEAD => {}
        _ => return Ok(Found::Cut),
    }
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (stored, plain, sum) = (number(1) as usize, number(5) as usize, number(9));
    let Some(kind) = Kind::of(head[0]) else { return Ok(Found::Damaged("a block of an unknown kind")) };
    // A few bytes that claim to unpack to millions would otherwise cost that much memory before
    // they fail to unpack.
    if plain > MOST || stored > plain || plain > stored.saturating_mul(UNPACKS_TO) {
        return Ok(Found::Damaged("a block of an impossible length"));
    }
    // The buffer grows as bytes arrive, so a false length costs no memory.
    buffers.stored.clear();
    if from.take(stored as u64).read_to_end(&mut buffers.stored)? < stored {
        return Ok(Found::Cut);
    }
    if checksum(&head[..9], &buffers.stored) != sum {
        return Ok(Found::Damaged("its checksum is wrong"));
    }
    if stored == plain {
        std::mem::swap(&mut buffers.stored, &mut buffers.plain);
    } else {
        buffers.plain.resize(plain, 0);
        if lz4_flex::block::decompress_into(&buffers.stored, &mut buffers.plain).ok() != Some(plain) {
            return Ok(Found::Damaged("it cannot be decompressed"));
        }
    }
    Ok(Found::Block(kind, (HEAD + stored) as u64))
}

/// Reads until the buffer is full or the input ends; returns the number of bytes read.
fn fill(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match from.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
