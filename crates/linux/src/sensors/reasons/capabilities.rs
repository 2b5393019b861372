//! Determines what this machine can measure, why it cannot measure the rest, and what else a person
//! should know: a pure function of facts, which are gathered here from `/proc` and `/sys`.

use crate::kernel::arch::Arch;
use crate::kernel::capability;
use crate::kernel::cpu_model::CpuModel;
use crate::kernel::proc_fs::read_text;
use crate::neighbours::{self, Neighbours};
use crate::resctrl::DEFAULT_ROOT;
use crate::resctrl::absence::Evidence;
use isobar_model::{Capabilities, Sensor, Topology};
use std::collections::BTreeMap;
use std::path::Path;

/// What the machine says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Effective capabilities (`CapEff` of `/proc/self/status`); `None` if they cannot be read.
    pub effective: Option<u64>,
    /// `kernel.perf_event_paranoid`
    pub paranoid: Option<i32>,
    /// who else places threads and pages
    pub neighbours: Neighbours,
    /// whether this is a virtual machine
    pub is_vm: bool,
    /// the architecture
    pub arch: Arch,
    /// what the machine says about resctrl
    pub resctrl: Evidence,
}

impl Facts {
    /// The facts of the running machine; daemons are found later, among the processes.
    #[must_use]
    pub fn live(cpu: &CpuModel) -> Self {
        let number = |path: &str| read_text(path)?.trim().parse::<i64>().ok();
        Self {
            effective: read_text("/proc/self/status").and_then(|status| capability::effective(&status)),
            paranoid: number("/proc/sys/kernel/perf_event_paranoid").and_then(|level| i32::try_from(level).ok()),
            neighbours: Neighbours::read(Path::new("/"), Path::new(DEFAULT_ROOT)),
            is_vm: cpu.hypervisor || hypervisor_files(),
            arch: Arch::here(),
            resctrl: Evidence::live(Path::new(DEFAULT_ROOT)),
        }
    }

    /// Whether a capability is effective; taken as effective if that is not known.
    #[must_use]
    pub const fn has(&self, wanted: u32) -> bool {
        match self.effective {
            Some(set) => capability::has(set, wanted),
            None => true,
        }
    }

    /// `CAP_PERFMON`, or `CAP_SYS_ADMIN`, which implies it.
    #[must_use]
    pub const fn has_perfmon(&self) -> bool {
        self.has(capability::PERFMON) || self.has(capability::SYS_ADMIN)
    }
}

/// Recognises virtual machines without the CPUID bit: Xen by `/sys/hypervisor`, Arm guests by the
/// device tree (KVM and Xen by a node `hypervisor`, QEMU's `virt` machine by what it is compatible
/// with), others by DMI.
fn hypervisor_files() -> bool {
    let dmi = |file: &str| read_text(format!("/sys/class/dmi/id/{file}")).unwrap_or_default();
    let there = |path: &str| Path::new(path).exists();
    let virt = read_text("/proc/device-tree/compatible").is_some_and(|compatible| compatible.contains("dummy-virt"));
    sold_as_guest(&dmi("product_name"), &dmi("sys_vendor"))
        || virt
        || there("/sys/hypervisor/type")
        || there("/proc/device-tree/hypervisor")
}

/// Whether a machine's own name is that of a virtual machine. Amazon's bare-metal machines are
/// called `.metal`.
fn sold_as_guest(product: &str, vendor: &str) -> bool {
    const NAMES: [&str; 9] = [
        "KVM",
        "VMware",
        "VirtualBox",
        "QEMU",
        "HVM domU",
        "Virtual Machine",
        "Bochs",
        "OpenStack",
        "Google Compute Engine",
    ];
    let named = NAMES.iter().any(|name| product.contains(name) || vendor.contains(name));
    named || (vendor.contains("Amazon EC2") && !product.contains(".metal"))
}

/// What can be measured: `events` holds the reasons for missing counters, `pages` the reason for
/// missing page counts, `latency` the reason for missing latencies, `remarks` the remarks on the
/// counters.
#[must_use]
pub fn capabilities(
    facts: &Facts,
    topology: &Topology,
    events: BTreeMap<Sensor, String>,
    pages: Option<String>,
    latency: Option<String>,
    mut remarks: Vec<String>,
) -> Capabilities {
    let mut missing = events;
    missing.extend(pages.map(|reason| (Sensor::PagesByNode, reason)));
    missing.extend(latency.map(|reason| (Sensor::Latency, reason)));
    missing.extend(machine_reasons(topology, &facts.resctrl));
    remarks.extend(neighbours::remarks(&facts.neighbours));
    Capabilities { missing, remarks, numa_balancing: facts.neighbours.numa_balancing.map(|mode| mode & 1 == 1) }
}

fn machine_reasons(topology: &Topology, resctrl: &Evidence) -> Vec<(Sensor, String)> {
    let mut reasons = Vec::new();
    if topology.nodes().len() < 2 {
        let reason = "this machine has one memory node";
        reasons.push((Sensor::SeveralNodes, reason.to_owned()));
    }
    let with_cpus =
        topology.nodes().iter().filter(|node| topology.cpus_of_node(node.id).is_some_and(|c| !c.is_empty()));
    if topology.llcs().len().max(with_cpus.count()) < 2 {
        let reason = "all CPUs share one LLC and one node";
        reasons.push((Sensor::SeveralDomains, reason.to_owned()));
    }
    if topology.allocation().is_none() {
        reasons.push((Sensor::CacheWays, resctrl.reason()));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;

    fn found(facts: &Facts, machine: &str) -> Capabilities {
        capabilities(facts, &synthetic(machine).unwrap(), BTreeMap::new(), None, None, Vec::new())
    }

    #[test]
    fn a_small_machine_lacks_nodes_and_domains_and_a_large_one_does_not() {
        let small = found(&Facts::default(), "node:1 llc:1 core:2").missing;
        assert!(small.contains_key(&Sensor::SeveralNodes) && small.contains_key(&Sensor::SeveralDomains));
        let epyc = found(&Facts::default(), "node:1 llc:4 core:2").missing;
        assert!(epyc.contains_key(&Sensor::SeveralNodes) && !epyc.contains_key(&Sensor::SeveralDomains));
        let large = found(&Facts::default(), "node:4 llc:1 core:2").missing;
        let expected = [Sensor::CacheWays];
        assert_eq!(large.keys().copied().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn guests_are_known_by_what_they_call_themselves() {
        assert!(sold_as_guest("Standard PC (Q35 + ICH9, 2009)", "QEMU"));
        assert!(sold_as_guest("m7g.large", "Amazon EC2") && !sold_as_guest("m7g.metal", "Amazon EC2"));
        assert!(sold_as_guest("Google Compute Engine", "Google"));
        assert!(!sold_as_guest("PowerEdge R7525", "Dell Inc.") && !sold_as_guest("", ""));
    }

    #[test]
    fn what_works_against_us_is_said() {
        let balancing = |mode| Neighbours { numa_balancing: Some(mode), ..Neighbours::default() };
        let quiet = Facts { effective: Some(0), neighbours: balancing(0), ..Facts::default() };
        assert_eq!(found(&quiet, "node:2 core:1").remarks, [""; 0]);
        assert_eq!(found(&quiet, "node:2 core:1").numa_balancing, Some(false));
        assert_eq!(found(&Facts::default(), "node:2 core:1").numa_balancing, None);
        let loud = Facts {
            effective: Some(0),
            neighbours: Neighbours { sched_ext: Some("rusty".into()), ..balancing(3) },
            ..Facts::default()
        };
        let Capabilities { remarks, numa_balancing, .. } = found(&loud, "node:2 core:1");
        assert_eq!(numa_balancing, Some(true));
        let words = ["tiering", "rusty"];
        assert_eq!(remarks.len(), words.len());
        for (remark, word) in remarks.iter().zip(words) {
            assert!(remark.contains(word) && !remark.contains("  "), "{remark}");
        }
    }

    #[test]
    fn sys_admin_does_the_work_of_perfmon() {
        let perfmon = Facts { effective: Some(1 << 38), ..Facts::default() };
        assert!(perfmon.has_perfmon() && !perfmon.has(capability::SYS_ADMIN));
        assert!(Facts { effective: Some(1 << 21), ..Facts::default() }.has_perfmon());
        assert!(!Facts { effective: Some(1 << 19), ..Facts::default() }.has_perfmon());
    }
}
