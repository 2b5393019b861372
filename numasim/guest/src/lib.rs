//! The protocol between the director in the guest and the lab outside: the order that goes in, the
//! lines that come out.

#![forbid(unsafe_code)]

pub mod counters;
pub mod wire;
