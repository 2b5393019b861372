//! The other crates, one file each, and the files that their settings name: nothing else in this crate names them. A change of
//! theirs ends here.

pub mod catalogue;
pub mod input;
pub mod linux;
pub mod reproduce;
pub mod sim;
pub mod study;
