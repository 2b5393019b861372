//! The verbs, one file each: from what was typed to what was done.

pub mod decide;
pub mod explain;
pub mod manage;
pub mod restore;
mod shipped;
pub mod sim;
pub mod topo;
mod watch;
