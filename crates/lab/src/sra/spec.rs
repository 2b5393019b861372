//! The parameters of a study, and the machine that it assumes: `barcelona-4x4`, the first machine
//! of the DINO paper; clock, cache and latencies are as in its data file. Every number has its
//! source; none was chosen by the results.

/// Cycles per second.
pub(super) const HERTZ: f64 = 2.3e9;
/// Last-level cache of a thread that runs alone, in bytes.
pub(super) const LLC_BYTES: f64 = 2.0 * 1_048_576.0;
/// Latency of local and of remote memory, in nanoseconds.
pub(super) const LATENCY_NS: (f64, f64) = (110.0, 150.0);
/// Seconds from one sample of the migration daemon to the next. DINO, section 4.2: "wakes up every
/// ten milliseconds".
pub(super) const DAEMON_SECONDS: f64 = 0.01;
/// Bytes that the daemon can move per second, if its speed counts. Estimate: `move_pages` of Linux
/// 2.6.29 on quad-core Opterons, the order of magnitude that Goglin and Furmento show (the paper's
/// reference 8).
pub(super) const COPY_BYTES_PER_SECOND: f64 = 600e6;
/// Cycles that each thread of a process loses when a page moves, for each thread that has to flush
/// its TLB. As in the simulator: 11,000 cycles at 16 threads (CAMM, section 4), assumed to be
/// linear.
pub(super) const SHOOTDOWN_CYCLES: f64 = 11_000.0 / 16.0;
/// K of the paper's claims (section 4.1).
pub(crate) const PAPER_K: u32 = 4096;

/// A study of page-migration strategies: which programs, which K, which sampling rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Single-threaded programs, over which means are taken (section 4.1: all of SPEC CPU2006).
    pub programs: Vec<String>,
    /// Programs whose threads share data (section 5.2: MySQL and Apache).
    pub shared: Vec<String>,
    /// K: number of pages that a sample moves. K = 4096 is always studied, because the claims are
    /// about it.
    pub ks: Vec<u32>,
    /// Fractions of the accesses that are sampled, from 0 to 1.
    pub rates: Vec<f64>,
    /// Seconds of execution after the thread was moved. One second is DINO's interval (section
    /// 3.3.3): it counts what a migration has saved by the next decision. The paper prints no
    /// length for its traces, and the result depends on it.
    pub seconds: f64,
    /// Seed of traces, samples and random pages.
    pub seed: u64,
    /// Number of seeds, starting at `seed`, over which the strategies, and K against resident sets
    /// that threads share, are compared at K = 4096; at least 1. All other results are for the
    /// first seed.
    pub repeats: u64,
}

impl Spec {
    /// The whole study: K in powers of two to 16384, one access in a million to one in a hundred.
    #[must_use]
    pub fn paper() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            programs: names(&[
                "mcf", "omnetpp", "milc", "lbm", "soplex", "leslie3d", "gcc", "bwaves", "bzip2", "povray", "calculix",
                "h264ref", "gamess", "namd",
            ]),
            shared: names(&["mysqld", "apache"]),
            ks: (0..=14).map(|power| 1 << power).collect(),
            rates: vec![1e-6, 1e-5, 1e-4, 1e-3, 1e-2],
            seconds: 1.0,
            seed: 1,
            repeats: 5,
        }
    }

    /// The same traces with fewer K and rates.
    #[must_use]
    pub fn quick() -> Self {
        Self { ks: vec![1, 16, 256, 1024, 4096, 16384], rates: vec![1e-6, 1e-4, 1e-2], ..Self::paper() }
    }

    /// The requested K and the paper's K, ascending.
    pub(super) fn all_ks(&self) -> Vec<u32> {
        let mut ks = self.ks.clone();
        ks.push(PAPER_K);
        ks.sort_unstable();
        ks.dedup();
        ks
    }
}
