//! What the director in the guest and the laboratory outside say to each other: the order that goes
//! in, the lines that come out.

#![forbid(unsafe_code)]

pub mod counters;
pub mod wire;
