//! The latency and bandwidth probe of this machine.

#[cfg(test)]
pub use isobar_linux::probe::Figures;
pub use isobar_linux::probe::bandwidth::{Bandwidths, measure as measure_bandwidth};
pub use isobar_linux::probe::weights::weights;
pub use isobar_linux::probe::{Prober, Round};
pub use isobar_linux::sensors::memory::free::free_by_node;
