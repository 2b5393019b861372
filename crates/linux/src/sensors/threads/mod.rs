//! Follows processes and threads from sample to sample.

pub mod state;
pub mod table;
