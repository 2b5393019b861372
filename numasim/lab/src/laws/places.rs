//! Where on a machine the laws are measured: on which node, on which CPUs, over which link. This
//! file knows only the spec.

use numasim_model::Spec;
use numasim_model::num;

/// The places of measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    /// The node whose memory is measured: the first that has CPUs.
    pub node: usize,
    /// Its CPUs.
    pub cpus: Vec<usize>,
    /// The CPU of the observer, which reads the page: the last of the machine.
    pub observer: usize,
    /// A node with CPUs that one link joins to the measured node.
    pub remote: Option<Remote>,
    /// One pair of nodes (that of the CPU, that of the memory) for each unloaded latency.
    pub pairs: Vec<(usize, usize)>,
    /// The LLC of the measured node's first CPU.
    pub llc: usize,
}

/// A neighbouring node.
#[derive(Clone, Debug, PartialEq)]
pub struct Remote {
    /// The node.
    pub node: usize,
    /// Its CPUs, without the observer's if there are others.
    pub cpus: Vec<usize>,
    /// Index of the link.
    pub link: usize,
}

impl Places {
    /// # Errors
    /// No node has CPUs.
    pub fn of(spec: &Spec) -> Result<Self, String> {
        let with_cpus: Vec<usize> = (0..spec.node.len()).filter(|node| !cpus(spec, *node).is_empty()).collect();
        let node = *with_cpus.first().ok_or("the machine has no CPUs")?;
        let own = cpus(spec, node);
        let llc = spec.llc_of(own[0]).unwrap_or(0);
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (home, memory) in with_cpus.iter().flat_map(|home| (0..spec.node.len()).map(move |memory| (*home, memory)))
        {
            let latency = |(home, memory): (usize, usize)| spec.latency.ns[home][memory];
            if !pairs.iter().any(|seen| latency(*seen).total_cmp(&latency((home, memory))).is_eq()) {
                pairs.push((home, memory));
            }
        }
        let remote = with_cpus.iter().find_map(|other| neighbour(spec, node, *other));
        Ok(Self { node, cpus: own, observer: spec.cpus().saturating_sub(1), remote, pairs, llc })
    }

    /// A CPU that shares the LLC with the first CPU, and a CPU of another LLC, with its node.
    #[must_use]
    pub fn others(&self, spec: &Spec) -> (Option<usize>, Option<(usize, usize)>) {
        let shared = spec.llc[self.llc].cpus.as_slice().iter().copied().find(|cpu| *cpu != self.cpus[0]);
        let apart = spec.llc.iter().enumerate().find(|(llc, _)| *llc != self.llc);
        let apart =
            apart.and_then(|(_, llc)| llc.cpus.as_slice().first().map(|cpu| (*cpu, spec.node_of(*cpu).unwrap_or(0))));
        (shared, apart)
    }
}

fn cpus(spec: &Spec, node: usize) -> Vec<usize> {
    spec.node[node].cpus.as_slice().to_vec()
}

fn neighbour(spec: &Spec, node: usize, other: usize) -> Option<Remote> {
    let ends = |link: &numasim_model::Link| (num::index(link.a), num::index(link.b));
    let link = spec.link.iter().position(|link| ends(link) == (node, other) || ends(link) == (other, node))?;
    let pair = |route: &numasim_model::Route| [num::index(route.from), num::index(route.to)];
    let detour = spec.route.iter().any(|route| pair(route).contains(&node) && pair(route).contains(&other));
    let mut cpus = cpus(spec, other);
    // The observer takes time from the programs that stream there.
    if cpus.len() > 1 {
        cpus.retain(|cpu| cpu + 1 != spec.cpus());
    }
    (!detour).then_some(Remote { node: other, cpus, link })
}
