//! One reading of a machine as bytes: what changed since the reading before, in columns. A frame
//! that follows nothing (a key frame) holds everything.
//!
//! A thousand threads make a frame every second, so what seldom changes is written when it does,
//! and counters are written as differences, whose upper bytes pack to nothing.
//! Nothing is lost: [`decode`] gives back the sample to the bit, and so the same decisions.

mod column;
mod columns;
mod decode;
mod encode;
mod state;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::encode;
pub use state::State;

use columns::Columns;
use isobar_model::{Bytes, Indirect, NodeMap, Pages, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{Read, Write};

/// The threads that a policy decided on.
pub type Managed = BTreeSet<(Pid, Tid)>;

/// What a frame takes at most when it is unpacked: a damaged one must not fill the memory. A
/// thousand threads that are all new take 40 KB.
const LARGEST: u64 = 64 << 20;

/// How hard frames are packed: at 1 a thousand busy threads take a tenth more, at 6 no less.
const PACKING: u32 = 3;

/// Something that seldom changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Change<T> {
    Same,
    Now(T),
}

/// A matrix by node: the nodes, and the cells row by row.
type Cells = Option<(Vec<u32>, Vec<Option<f64>>)>;

/// A reading, as differences from the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Frame {
    time: f64,
    /// As JSON.
    topology: Change<String>,
    /// As JSON.
    capabilities: Change<String>,
    free: Change<NodeMap<Bytes>>,
    latency: Change<Cells>,
    latency_idle: Change<Cells>,
    latency_cycles: Change<Cells>,
    ended: Vec<Pid>,
    begun: Vec<Begun>,
    threads_ended: Vec<(Pid, Tid)>,
    threads_begun: Vec<(Pid, Tid, u64)>,
    pages: Vec<(Pid, Option<NodeMap<Pages>>)>,
    accessed: Vec<(Pid, Option<NodeMap<Pages>>)>,
    attributes: Vec<(u32, Attributes)>,
    columns: Columns,
    /// As JSON; nothing for none.
    page_moves: Option<String>,
    indirect: Change<Indirect>,
    /// Positions of threads from which on the opposite holds, beginning with "not managed".
    managed: Vec<u32>,
}

/// A process that was not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Begun {
    pid: Pid,
    start: u64,
    name: String,
}

/// What seldom changes of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Attributes {
    /// A list of CPUs, as the kernel writes it.
    allowed: Option<String>,
    pinned: bool,
    bound: Option<bool>,
    vcpu: bool,
    /// Which readings there are, as bits: CPU, CPU time, then the counters.
    present: u8,
}

/// Why a frame cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// not compressed, cut short, or larger than any
    #[error("cannot be unpacked: {0}")]
    Packed(#[from] std::io::Error),
    /// not a frame of this format
    #[error("is not of this format: {0}")]
    Format(#[from] postcard::Error),
    /// parts of it contradict each other or the frame before
    #[error("contradicts itself or the one before it: {0}")]
    Wrong(String),
}

fn wrong(what: impl Into<String>) -> FrameError {
    FrameError::Wrong(what.into())
}

impl Frame {
    fn pack(&self) -> Result<Vec<u8>, FrameError> {
        let plain = postcard::to_stdvec(self)?;
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(PACKING));
        packer.write_all(&plain)?;
        Ok(packer.finish()?)
    }

    fn unpack(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut plain = Vec::new();
        let read = flate2::read::ZlibDecoder::new(bytes).take(LARGEST).read_to_end(&mut plain)?;
        if u64::try_from(read).is_ok_and(|read| read >= LARGEST) {
            return Err(wrong(format!("more than {LARGEST} bytes")));
        }
        Ok(postcard::from_bytes(&plain)?)
    }
}
