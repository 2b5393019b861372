//! The page of memory in which isobar writes where new pages go, and which the allocation shim
//! reads.
//!
//! This crate is the only place that knows the layout. It knows neither policies nor the kernel nor
//! how the page is mapped: everything is safe code over words, and nothing here allocates, because
//! the reader runs inside other programs.

#![forbid(unsafe_code)]

mod decision;
mod mapping;
mod page;

pub use decision::{Decision, MAX_NODES, Mode};
pub use mapping::{Mapping, mapping};
pub use page::{BYTES, Fault, MAX_PROCESSES, Page, Reading, WORDS, Way};

/// The environment variable that gives the shim the path of the page: `/proc/PID/fd/NUMBER`.
pub const PAGE: &str = "ISOBAR_ALLOCATION_PAGE";

/// The file name of the shim.
pub const SHIM: &str = "libisobar_alloc.so";

/// The process and the descriptor that [`PAGE`] names; `None` for any other text. No other path is
/// ever opened, because the text comes from the program's owner.
#[must_use]
pub fn place(text: &str) -> Option<(u32, u32)> {
    let (pid, number) = text.strip_prefix("/proc/")?.split_once("/fd/")?;
    let digits = |text: &str| (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(());
    digits(pid)?;
    digits(number)?;
    Some((pid.parse().ok().filter(|pid| *pid > 0)?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_descriptor_of_a_process_is_a_place() {
        assert_eq!(place("/proc/12/fd/3"), Some((12, 3)));
        for wrong in
            ["", "/proc/self/fd/3", "/proc/1/fd/", "/proc/0/fd/3", "/proc/1/fd/3/x", "/dev/sda", "/proc/+1/fd/3"]
        {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
