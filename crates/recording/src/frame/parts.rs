//! The contents of a frame, and their conversion to bytes.

use super::columns::Columns;
use super::error::{FrameError, wrong};
use isobar_model::{Bytes, Indirect, NodeMap, Pages, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// Maximum size of an unpacked frame: a damaged frame must not fill the memory. A thousand threads
/// that are all new take 40 KB.
const LARGEST: u64 = 64 << 20;

/// The compression level of frames. At 1, a thousand busy threads take a tenth more; at 6 they take
/// no less.
const PACKING: u32 = 3;

/// A value that seldom changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change<T> {
    Same,
    Now(T),
}

/// A matrix by node: the nodes, and the cells row by row.
pub type Cells = Option<(Vec<u32>, Vec<Option<f64>>)>;

/// A reading, as differences from the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    pub time: f64,
    /// As JSON.
    pub topology: Change<String>,
    /// As JSON.
    pub capabilities: Change<String>,
    pub free: Change<NodeMap<Bytes>>,
    pub latency: Change<Cells>,
    pub latency_idle: Change<Cells>,
    pub latency_cycles: Change<Cells>,
    pub ended: Vec<Pid>,
    pub begun: Vec<Begun>,
    pub threads_ended: Vec<(Pid, Tid)>,
    pub threads_begun: Vec<(Pid, Tid, u64)>,
    pub pages: Vec<(Pid, Option<NodeMap<Pages>>)>,
    pub accessed: Vec<(Pid, Option<NodeMap<Pages>>)>,
    pub attributes: Vec<(u32, Attributes)>,
    pub columns: Columns,
    /// As JSON; `None` if there are none.
    pub page_moves: Option<String>,
    pub indirect: Change<Indirect>,
    /// Positions of threads at which the flag "managed" changes, starting from "not managed".
    pub managed: Vec<u32>,
    /// At the end, because older recordings, which have no cgroups, end before it.
    #[serde(skip)]
    pub cgroups: Vec<InCgroup>,
}

/// A process that is in another cgroup than before: the path and the name.
pub type InCgroup = (Pid, Option<(String, Option<String>)>);

/// A process that is new.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    pub pid: Pid,
    pub start: u64,
    pub name: String,
}

/// What seldom changes for a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// A list of CPUs, as the kernel writes it.
    pub allowed: Option<String>,
    pub pinned: bool,
    pub bound: Option<bool>,
    pub vcpu: bool,
    /// Which readings are present, as bits: CPU, CPU time, then the counters.
    pub present: u8,
}

impl Frame {
    /// Converts the frame to bytes.
    pub fn pack(&self) -> Result<Vec<u8>, FrameError> {
        let mut plain = postcard::to_stdvec(self)?;
        plain.extend(postcard::to_stdvec(&self.cgroups)?);
        plain.extend(postcard::to_stdvec(&self.columns.later)?);
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(PACKING));
        packer.write_all(&plain)?;
        Ok(packer.finish()?)
    }

    /// Reads a frame from bytes.
    pub fn unpack(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut plain = Vec::new();
        let read = flate2::read::ZlibDecoder::new(bytes).take(LARGEST).read_to_end(&mut plain)?;
        if u64::try_from(read).is_ok_and(|read| read >= LARGEST) {
            return Err(wrong(format!("more than {LARGEST} bytes")));
        }
        let (mut frame, rest) = postcard::take_from_bytes::<Self>(&plain)?;
        // Frames of earlier versions end here, or after the cgroups.
        if !rest.is_empty() {
            let (cgroups, rest) = postcard::take_from_bytes(rest)?;
            frame.cgroups = cgroups;
            if !rest.is_empty() {
                frame.columns.later = postcard::from_bytes(rest)?;
            }
        }
        Ok(frame)
    }
}
