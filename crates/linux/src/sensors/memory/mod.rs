//! Reads memory: free bytes by node, resident pages by node (`watched`: of one process by mapping),
//! loads that near and far memory answered (`loads`), and addresses that threads access (`program`:
//! all threads of a program that is being started).

pub mod free;
pub mod loads;
pub mod pages;
pub mod program;
pub mod records;
pub mod samplers;
pub mod watched;
