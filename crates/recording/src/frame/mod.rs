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

/// The threads that a policy decided on.
pub type Managed = BTreeSet<(Pid, Tid)>;
