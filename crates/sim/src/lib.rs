//! The simulated NUMA machine.

#![forbid(unsafe_code)]
