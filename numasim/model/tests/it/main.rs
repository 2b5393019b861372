//! The model tested on whole machines: what a program experiences, step by step.

#![allow(clippy::unwrap_used)]

mod caches;
mod coherence;
mod common;
mod curve;
mod hits;
mod overlap;
mod queues;
mod reference;
mod spec;
