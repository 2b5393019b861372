//! Policies of no paper: what the others are measured against.

pub mod fixed;
pub mod linux;

use crate::entry::Entry;

/// The policies of no paper.
pub const POLICIES: [Entry; 2] = [linux::ENTRY, fixed::ENTRY];
