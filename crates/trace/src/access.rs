//! One access to memory, the same in every kind of trace.

/// An access that missed the last-level cache and so went to memory (DINO, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Instructions that its thread had executed before it.
    pub instruction: u64,
    /// The thread, by position among those of the process.
    pub thread: u16,
    /// The base page that holds the address, counted from the first resident one.
    pub page: u32,
}
