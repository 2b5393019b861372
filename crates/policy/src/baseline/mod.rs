//! Policies of no paper: what the others are measured against.

pub mod fixed;
pub mod linux;
