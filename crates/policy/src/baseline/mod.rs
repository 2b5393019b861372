//! Policies that implement no paper: the baselines with which the other policies are compared.

pub mod fixed;
pub mod linux;

use crate::entry::Entry;

/// The baseline policies.
pub const POLICIES: [Entry; 2] = [linux::ENTRY, fixed::ENTRY];
