//! What a study asks, and the machine it is asked for. Every number has its source; none was chosen
//! by what comes out.

use super::error::SraError;
use super::strategy::Trigger;
use serde::Serialize;

/// A study of page-migration strategies: which programs, which K, which sampling rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spec {
    /// Programs of one thread, over which means are taken (section 4.1: all of SPEC CPU2006).
    pub programs: Vec<String>,
    /// Programs whose threads share data (section 5.2: MySQL and Apache).
    pub shared: Vec<String>,
    /// K: pages that a sample moves. K = 4096 is always studied, since the claims are about it.
    pub ks: Vec<u32>,
    /// Parts of the accesses that are sampled, from 0 to 1.
    pub rates: Vec<f64>,
    /// Seconds of execution after the thread was moved. One second is DINO's interval (section
    /// 3.3.3): what a migration has saved by the next decision. The paper prints no length for its
    /// traces; `over_time` of the study shows what others give.
    pub seconds: f64,
    /// Seed of traces, samples and random pages.
    pub seed: u64,
    /// Seeds, from that one on, over which the strategies, and K against resident sets that threads
    /// share, are compared at K = 4096; at least 1. All else is of the first.
    pub repeats: u64,
    /// Which samples move pages.
    pub trigger: Trigger,
    /// The machine.
    pub timing: Timing,
}

/// What turns accesses into time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// Cycles a second.
    pub hertz: f64,
    /// Last-level cache of a thread that runs alone, in bytes.
    pub llc_bytes: f64,
    /// Latency of local memory.
    pub local_ns: f64,
    /// Latency of remote memory.
    pub remote_ns: f64,
    /// Seconds from one sample of the migration daemon to its next.
    pub daemon_seconds: f64,
    /// Bytes that the daemon can move in a second, where its speed counts.
    pub copy_bytes_per_second: f64,
    /// Cycles that each thread of a process loses when a page moves, for each thread that has to
    /// flush its TLB.
    pub shootdown_cycles: f64,
}

impl Default for Timing {
    /// `barcelona-4x4`, the first machine of the DINO paper; clock, cache and latencies as in its
    /// data file.
    fn default() -> Self {
        Self {
            hertz: 2.3e9,
            llc_bytes: 2.0 * 1_048_576.0,
            local_ns: 110.0,
            remote_ns: 150.0,
            // DINO, section 4.2: "wakes up every ten milliseconds".
            daemon_seconds: 0.01,
            // Estimate: move_pages of Linux 2.6.29 on quad-core Opterons, the order that Goglin and
            // Furmento show (the paper's reference 8).
            copy_bytes_per_second: 600e6,
            // As the simulator: 11,000 cycles at 16 threads (design, section 6), taken as linear.
            shootdown_cycles: 11_000.0 / 16.0,
        }
    }
}

/// K of the paper's claims (section 4.1).
pub(super) const PAPER_K: u32 = 4096;

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
            trigger: Trigger::Remote,
            timing: Timing::default(),
        }
    }

    /// The same traces with fewer K and rates.
    #[must_use]
    pub fn quick() -> Self {
        Self { ks: vec![1, 16, 256, 1024, 4096, 16384], rates: vec![1e-6, 1e-4, 1e-2], ..Self::paper() }
    }

    pub(super) fn validate(&self) -> Result<(), SraError> {
        let value = |key: &str, problem: String| Err(SraError::Value { key: key.to_owned(), problem });
        if let Some(rate) = self.rates.iter().find(|rate| !(**rate > 0.0 && **rate <= 1.0)) {
            return value("rates", format!("has {rate}; a part of the accesses is above 0 and at most 1"));
        }
        if self.ks.contains(&0) {
            return value("ks", "has 0; a sample moves at least 1 page".to_owned());
        }
        let timing = &self.timing;
        let positive = [
            ("seconds", self.seconds),
            ("timing.hertz", timing.hertz),
            ("timing.llc_bytes", timing.llc_bytes),
            ("timing.local_ns", timing.local_ns),
            ("timing.remote_ns", timing.remote_ns),
            ("timing.daemon_seconds", timing.daemon_seconds),
            ("timing.copy_bytes_per_second", timing.copy_bytes_per_second),
        ];
        match positive.iter().find(|(_, number)| !(number.is_finite() && *number > 0.0)) {
            Some((key, number)) => value(key, format!("is {number}; it must be above 0")),
            None => Ok(()),
        }
    }

    /// K as asked for and the paper's, ascending.
    pub(super) fn all_ks(&self) -> Vec<u32> {
        let mut ks = self.ks.clone();
        ks.push(PAPER_K);
        ks.sort_unstable();
        ks.dedup();
        ks
    }
}
