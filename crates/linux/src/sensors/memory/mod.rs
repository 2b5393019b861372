//! Memory: free bytes by node, resident pages by node (`watched`: of one process by mapping), and
//! addresses that threads access.

pub mod free;
pub mod pages;
pub mod records;
pub mod samplers;
pub mod watched;
