//! The protocol between the director in the guest and numasim on the host: the order that goes in,
//! and the lines that come out.

#![forbid(unsafe_code)]

pub mod counters;
pub mod wire;
