//! A process of the machine that the command runs on.

pub use isobar_linux::kernel::numa_maps::Kind;
pub use isobar_linux::sensors::memory::loads::Loads;
#[cfg(test)]
pub use isobar_linux::sensors::memory::watched::WatchedThread;
pub use isobar_linux::sensors::memory::watched::{Look, NotSeen, Watched};
