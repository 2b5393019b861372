//! Reads a trace, block by block, however long it is.

use super::block::{self, Buffers, Found, Kind};
use super::columns::{self, View};
use super::contents::{End, Header, Part, Placed, Region, Thread};
use super::error::TraceError;
use super::placed;
use super::{MAGIC, OLDEST, VERSION};
use serde::de::DeserializeOwned;
use std::io::{self, Read};

/// A year: longer slices do not come from a traced run.
const MOST_SLICE_NS: u64 = 365 * 86_400 * 1_000_000_000;

/// Reads a trace. The iterator yields the parts after the header. After an error, and at the end of
/// the file, it yields nothing more.
#[derive(Debug)]
pub struct Reader<R: Read> {
    from: R,
    buffers: Buffers,
    version: u32,
    header: Header,
    offset: u64,
    ended: bool,
    over: bool,
}

/// A part whose rows are not unpacked yet.
#[derive(Debug)]
pub enum Packed<'a> {
    /// A thread started.
    Thread(Thread),
    /// A region of the address space came into use.
    Region(Region),
    /// A slice, or one of several consecutive parts of it.
    Slice(View<'a>),
    /// Where the kernel had placed pages.
    Placed(Placed),
    /// The program ended.
    End(End),
}

impl<R: Read> Reader<R> {
    /// Opens a trace and reads its header.
    ///
    /// # Errors
    /// [`TraceError::NotATrace`], [`TraceError::Version`], a damaged header.
    pub fn new(mut from: R) -> Result<Self, TraceError> {
        let mut head = [0; MAGIC.len() + 4];
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(TraceError::NotATrace),
            other => other?,
        }
        let (magic, version) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(TraceError::NotATrace);
        }
        let version = version.try_into().map(u32::from_le_bytes).unwrap_or_default();
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(TraceError::Version(version));
        }
        let offset = head.len() as u64;
        let mut buffers = Buffers::default();
        let length = match block::read(&mut from, &mut buffers)? {
            Found::Block(Kind::Header, length) => length,
            Found::Damaged(_) => return Err(TraceError::Header("its header has changed since it was written")),
            Found::Block(..) => return Err(TraceError::Header("the first block is not a header")),
            Found::Over | Found::Cut => return Err(TraceError::Header("the file ends in its header")),
        };
        let header: Header =
            serde_json::from_slice(&buffers.plain).map_err(|_| TraceError::Header("the header cannot be decoded"))?;
        let slices = (1..=MOST_SLICE_NS).contains(&header.slice_ns);
        if !header.page_bytes.is_power_of_two() || header.page_bytes < 4096 || !slices {
            return Err(TraceError::Header("a header with impossible sizes of pages or slices"));
        }
        Ok(Self { from, buffers, version, header, offset: offset + length, ended: false, over: false })
    }

    /// How the trace was made.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Whether the file ends without the end of a trace: it was cut off, or is still being written.
    pub const fn cut(&self) -> bool {
        self.over && !self.ended
    }

    /// The next part, with the rows of a slice still packed; `None` if the file ends, or if a block
    /// is incomplete.
    ///
    /// # Errors
    /// [`TraceError::Damaged`], and errors of the file.
    pub fn packed(&mut self) -> Result<Option<Packed<'_>>, TraceError> {
        if self.over {
            return Ok(None);
        }
        self.over = true;
        let offset = self.offset;
        let damaged = |what| TraceError::Damaged { offset, what };
        let (kind, length) = match block::read(&mut self.from, &mut self.buffers)? {
            Found::Over | Found::Cut => return Ok(None),
            Found::Damaged(what) => return Err(damaged(what)),
            Found::Block(..) if self.ended => return Err(damaged("a block after the end of the trace")),
            Found::Block(kind, length) => (kind, length),
        };
        let plain = &self.buffers.plain;
        let part = match kind {
            Kind::Header => return Err(damaged("a second header")),
            Kind::Thread => {
                Packed::Thread(thread(json(plain, offset, "a thread that cannot be decoded")?).map_err(damaged)?)
            }
            Kind::Region => {
                Packed::Region(region(json(plain, offset, "a region that cannot be decoded")?).map_err(damaged)?)
            }
            Kind::Slice => Packed::Slice(View::new(plain).map_err(damaged)?),
            Kind::Placed if self.version < 2 => {
                return Err(damaged("a placement of pages, which files of version 1 do not have"));
            }
            Kind::Placed => Packed::Placed(placed::decode(plain).map_err(damaged)?),
            Kind::End => Packed::End(json(plain, offset, "an end that cannot be decoded")?),
        };
        self.ended = kind == Kind::End;
        self.offset += length;
        self.over = false;
        Ok(Some(part))
    }

    /// Where in the file the next block begins.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    fn part(&mut self) -> Result<Option<Part>, TraceError> {
        let offset = self.offset;
        let part = match self.packed()? {
            None => return Ok(None),
            Some(Packed::Thread(thread)) => Part::Thread(thread),
            Some(Packed::Region(region)) => Part::Region(region),
            Some(Packed::Placed(placed)) => Part::Placed(placed),
            Some(Packed::End(end)) => Part::End(end),
            Some(Packed::Slice(view)) => match view.slice() {
                Ok(slice) => Part::Slice(slice),
                Err(what) => {
                    self.over = true;
                    return Err(TraceError::Damaged { offset, what });
                }
            },
        };
        Ok(Some(part))
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Part, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.part().transpose()
    }
}

fn json<T: DeserializeOwned>(plain: &[u8], offset: u64, what: &'static str) -> Result<T, TraceError> {
    serde_json::from_slice(plain).map_err(|_| TraceError::Damaged { offset, what })
}

fn thread(thread: Thread) -> Result<Thread, &'static str> {
    if thread.number >= columns::MOST_THREADS { Err("more than 65,534 threads") } else { Ok(thread) }
}

fn region(region: Region) -> Result<Region, &'static str> {
    if region.start >= region.end { Err("a region without bytes") } else { Ok(region) }
}
