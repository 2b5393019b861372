//! The page of memory that numasim's plugin and its guest share (ivshmem). Counters of CPUs, memory
//! controllers and links come from the machine; classes of service and way masks go to it.
//!
//! Only this crate knows the layout of the page. It does not know the model, QEMU's plugin
//! interface, or what counters are used for. Everything except [`map`] is safe code over a trait of
//! words, so that tests need no device.

#![deny(unsafe_code)]

mod error;
mod figures;
pub mod guest;
pub mod host;
pub mod layout;
mod limits;
#[allow(unsafe_code)]
pub mod map;
mod num;
mod row;
mod since;
pub mod words;

pub use error::{PageError, Refusal};
pub use figures::{
    ClassFigures, CpuFigures, GuestSettings, Header, LinkFigures, LlcFigures, NAME_BYTES, NodeFigures, Place, Snapshot,
    Switches, ThreadFigures,
};
pub use guest::{ClassRequest, Guest};
pub use host::Host;
pub use map::Mapping;
pub use words::{Memory, Words};
