//! Memory: free bytes by node, resident pages by node, and addresses that threads access.

pub mod free;
pub mod pages;
pub mod records;
pub mod samplers;
