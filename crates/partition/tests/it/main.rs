//! Tests of static partitioning: properties, recorded answers, and vectors computed by another
//! tool.

#![allow(clippy::unwrap_used, clippy::panic)]

mod laws;
mod recorded;
#[path = "../support/mod.rs"]
mod support;
mod vectors;
