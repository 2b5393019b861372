//! The verbs, one file each: from what was typed to what was done.

pub mod decide;
pub mod explain;
pub mod manage;
pub mod reproduce;
pub mod restore;
mod shipped;
pub mod sim;
pub mod study;
pub mod topo;
mod watch;

/// How many runs to compute side by side: as many as were asked for, else one for each CPU.
fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get), usize::from)
}
