//! A process of this machine, as `isobar pages --watch` looks at it.

pub use isobar_linux::kernel::numa_maps::Kind;
pub use isobar_linux::sensors::memory::loads::Loads;
#[cfg(test)]
pub use isobar_linux::sensors::memory::watched::WatchedThread;
pub use isobar_linux::sensors::memory::watched::{NotSeen, WatchReading, Watched};
