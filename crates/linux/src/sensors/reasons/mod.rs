//! Reports what this machine cannot measure, and why.

pub mod capabilities;
pub(super) mod missing;
