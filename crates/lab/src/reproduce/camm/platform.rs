//! The two machines of the paper (tables I and II), and the results that it prints for them.

/// A machine with its printed results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Platform {
    /// Its name in this table.
    pub name: &'static str,
    /// Its name in the simulator's library.
    pub machine: &'static str,
    /// Number of NUMA nodes.
    pub nodes: u32,
    /// Number of cores of the whole machine; the numbers of the second hardware threads begin
    /// there.
    pub cores: u32,
    /// Number of hardware threads of a socket.
    pub hardware_threads: u32,
    /// Improvement by CAMM, CAMA, CAPM and NUMA balancing, in per cent (section VII).
    pub printed: [f64; 4],
}

/// Haswell, Westmere.
pub(super) const PLATFORMS: [Platform; 2] = [
    Platform {
        name: "Haswell",
        machine: "haswell-2x18",
        nodes: 2,
        cores: 36,
        hardware_threads: 36,
        printed: [9.5, 8.6, 8.2, -2.1],
    },
    Platform {
        name: "Westmere",
        machine: "westmere-8x10",
        nodes: 8,
        cores: 80,
        hardware_threads: 20,
        printed: [7.2, 5.1, 6.2, -1.4],
    },
];
