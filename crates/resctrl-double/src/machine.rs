//! The machine that the double pretends to be: caches with their domains and masks,
//! memory-bandwidth allocation, monitoring, CPUs, and how old the kernel is. It knows what hardware
//! and kernels differ in (`Documentation/filesystems/resctrl.rst`, "Info directory") and nothing of
//! groups, tasks or files.

use std::collections::{BTreeMap, BTreeSet};

/// A domain: the CPUs that share one instance of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// The CPUs of the instance.
    pub cpus: BTreeSet<u32>,
    /// Bytes of the cache instance (what the `size` file is computed from).
    pub bytes: u64,
}

/// Whether code and data have masks of their own (mount option `cdp`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cdp {
    /// The hardware cannot.
    Absent,
    /// It could, and the mount did not ask (the `schemata` names stay as wide as if it had,
    /// `schemata_list_add`).
    Off,
    /// `L3CODE` and `L3DATA` instead of `L3`, and half the CLOSIDs.
    On,
}

/// Cache allocation (CAT) on one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// 2 or 3.
    pub level: u32,
    /// Domain id to domain; the ids may have gaps.
    pub domains: BTreeMap<u32, Domain>,
    /// Bits of a mask, at most 32 (`cbm_mask`).
    pub ways: u32,
    /// Fewest bits of a mask (`min_cbm_bits`).
    pub min_bits: u32,
    /// Ways that other agents fill too (`shareable_bits`).
    pub shareable: u32,
    /// Whether the bits of a mask may lie apart (`sparse_masks`).
    pub sparse: bool,
    /// Code and data prioritisation.
    pub cdp: Cdp,
    /// CLOSIDs of the hardware; CDP halves them.
    pub closids: u32,
}

/// Memory-bandwidth allocation (MBA).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bandwidth {
    /// Domain id to domain.
    pub domains: BTreeMap<u32, Domain>,
    /// The least value (`min_bandwidth`).
    pub min: u32,
    /// The greatest value, 100 on Intel.
    pub max: u32,
    /// The step (`bandwidth_gran`).
    pub step: u32,
    /// Whether the delay is linear (`delay_linear`).
    pub linear: bool,
    /// `max` or `per-thread`; without it the file is absent.
    pub throttle_mode: Option<&'static str>,
    /// CLOSIDs of the hardware.
    pub closids: u32,
}

/// Monitoring of occupancy and bandwidth (CQM, MBM).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitoring {
    /// Domain id to domain.
    pub domains: BTreeMap<u32, Domain>,
    /// RMIDs, the default group's included (`num_rmids`).
    pub rmids: u32,
    /// `llc_occupancy`; only with it do freed RMIDs go through limbo (`free_rmid`).
    pub occupancy: bool,
    /// `mbm_total_bytes`.
    pub total: bool,
    /// `mbm_local_bytes`.
    pub local: bool,
    /// How many groups must be requested before the RMID of a removed group is clean enough to be
    /// used again. The kernel waits for its occupancy to fall (`__check_limbo`, once a second); the
    /// double has no clock and counts calls of `mkdir`.
    pub limbo_requests: u32,
    /// `mbm_event` counter assignment (6.18): counters a domain; groups without one read
    /// `Unassigned`. None: the mode is absent.
    pub counters: Option<u32>,
    /// Whether a bandwidth event reads `Unavailable` until its group moved a first byte
    /// (`mon_event_count`).
    pub silent_until_traffic: bool,
}

/// What kernels of different age do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// `info/last_cmd_status` (4.15).
    pub last_cmd_status: bool,
    /// `mode`, `size` and `bit_usage` (4.19).
    pub modes: bool,
    /// Monitor groups may be renamed and moved (6.5).
    pub rename: bool,
    /// `info/*/sparse_masks` (6.7).
    pub sparse_masks: bool,
    /// Several tids in one write, and words about a refused tid (6.7).
    pub task_lists: bool,
    /// The message for a bandwidth that is not a number (until 6.12: "Non-decimal digit in MB
    /// value").
    pub old_bandwidth_words: bool,
    /// Values in `schemata` are padded to one width (until 6.14).
    pub padded: bool,
}

impl Kernel {
    /// What a kernel of this version does.
    #[must_use]
    pub fn of_version(major: u32, minor: u32) -> Self {
        let since = |a: u32, b: u32| (major, minor) >= (a, b);
        Self {
            last_cmd_status: since(4, 15),
            modes: since(4, 19),
            rename: since(6, 5),
            sparse_masks: since(6, 7),
            task_lists: since(6, 7),
            old_bandwidth_words: !since(6, 13),
            padded: !since(6, 15),
        }
    }
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Cache allocation, at most one a level.
    pub caches: Vec<Cache>,
    /// Bandwidth allocation.
    pub bandwidth: Option<Bandwidth>,
    /// Monitoring.
    pub monitoring: Option<Monitoring>,
    /// CPUs that are online.
    pub online: BTreeSet<u32>,
    /// Width of a CPU mask (`nr_cpu_ids`).
    pub possible_cpus: u32,
    /// The kernel's age.
    pub kernel: Kernel,
}

impl Machine {
    /// A machine whose L3 domains are these (id, CPUs), 11 ways of 2.5 MiB each, no bandwidth
    /// allocation, 16 CLOSIDs, 64 RMIDs that are clean at once, on a kernel of 6.12. Change the
    /// fields for anything else.
    #[must_use]
    pub fn with_domains(domains: &[(u32, &[u32])]) -> Self {
        let ways = 11;
        let domain = |cpus: &[u32]| Domain { cpus: cpus.iter().copied().collect(), bytes: u64::from(ways) * (5 << 19) };
        let domains: BTreeMap<u32, Domain> = domains.iter().map(|(id, cpus)| (*id, domain(cpus))).collect();
        let online: BTreeSet<u32> = domains.values().flat_map(|domain| domain.cpus.iter().copied()).collect();
        let cache = Cache {
            level: 3,
            domains: domains.clone(),
            ways,
            min_bits: 1,
            shareable: 0,
            sparse: false,
            cdp: Cdp::Off,
            closids: 16,
        };
        let monitoring = Monitoring {
            domains,
            rmids: 64,
            occupancy: true,
            total: true,
            local: true,
            limbo_requests: 0,
            counters: None,
            silent_until_traffic: false,
        };
        Self {
            caches: vec![cache],
            bandwidth: None,
            monitoring: Some(monitoring),
            possible_cpus: online.last().map_or(1, |last| last + 1),
            online,
            kernel: Kernel::of_version(6, 12),
        }
    }

    /// The same machine with bandwidth allocation in per cent, steps of 10 and at least 10, on the
    /// domains of its first cache.
    #[must_use]
    pub fn with_bandwidth(mut self) -> Self {
        let domains = self.caches.first().map(|cache| cache.domains.clone()).unwrap_or_default();
        let throttle_mode = Some("max");
        self.bandwidth =
            Some(Bandwidth { domains, min: 10, max: 100, step: 10, linear: true, throttle_mode, closids: 8 });
        self
    }

    /// CLOSIDs that can be allocated, the default group's included: the fewest of all resources
    /// (`closid_init`); none without allocation.
    #[must_use]
    pub fn closids(&self) -> u32 {
        let caches = self.caches.iter().map(Cache::usable_closids);
        caches.chain(self.bandwidth.iter().map(|bandwidth| bandwidth.closids)).min().unwrap_or(0)
    }

    /// Whether anything can be allocated (`resctrl_arch_alloc_capable`).
    #[must_use]
    pub fn allocates(&self) -> bool {
        !self.caches.is_empty() || self.bandwidth.is_some()
    }
}

impl Cache {
    /// Every way.
    #[must_use]
    pub fn full(&self) -> u32 {
        u32::MAX >> (32 - self.ways.clamp(1, 32))
    }

    /// `num_closids`: half of the hardware's with CDP (`schemata_list_add`).
    #[must_use]
    pub fn usable_closids(&self) -> u32 {
        if self.cdp == Cdp::On { self.closids / 2 } else { self.closids }
    }
}
