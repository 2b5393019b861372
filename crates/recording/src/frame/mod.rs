//! One reading of a machine as bytes: what changed since the reading before, in columns. A frame
//! that follows no other frame (a key frame) contains everything.
//!
//! A thousand threads produce a frame every second. So values that seldom change are written only
//! when they change, and counters are written as differences, whose upper bytes compress to almost
//! nothing. Nothing is lost: [`decode`] returns the sample bit for bit, and therefore leads to the
//! same decisions.

mod column;
mod columns;
mod decode;
mod encode;
mod error;
mod parts;
mod state;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::encode;
pub use error::FrameError;
pub use state::State;

use isobar_model::{Pid, Tid};
use std::collections::BTreeSet;

/// The threads that the policy managed.
pub type Managed = BTreeSet<(Pid, Tid)>;
