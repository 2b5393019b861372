//! Replaces what the kernel says about caches by what the page says: the kernel of a guest sees
//! caches that QEMU made up, whose sizes and ways are not those that are modelled.

use crate::error::NumasimError;
use isobar_model::topology::CacheAllocation;
use isobar_model::{Bytes, LlcId, Topology, Ways, num};
use numasim_page::{Header, LlcFigures};
use std::collections::{BTreeMap, BTreeSet};

/// Index on the page of each of the kernel's last-level caches.
pub type LlcMap = BTreeMap<LlcId, usize>;

/// Maps the kernel's last-level caches to those of the page, by their CPUs.
///
/// # Errors
/// [`NumasimError`] if the CPUs or the caches of the two differ.
pub fn llc_map(topology: &Topology, header: &Header) -> Result<LlcMap, NumasimError> {
    check_cpus(topology, header)?;
    let map = topology.llcs().iter().map(|llc| Ok((llc.id, page_llc(topology, header, llc.id)?)));
    let map = map.collect::<Result<LlcMap, NumasimError>>()?;
    if map.is_empty() { Err(NumasimError::NoLlc) } else { Ok(map) }
}

/// Checks that the page has every CPU of the kernel.
///
/// # Errors
/// [`NumasimError::Cpu`].
pub fn check_cpus(topology: &Topology, header: &Header) -> Result<(), NumasimError> {
    let cpus = header.cpus.len();
    let beyond = topology.online().iter().find(|cpu| num::index(cpu.0) >= cpus);
    beyond.map_or(Ok(()), |cpu| Err(NumasimError::Cpu { cpu, cpus }))
}

/// The topology with the page's sizes and ways, and with the page's classes of service in place of
/// resctrl's.
///
/// # Errors
/// As [`llc_map`].
pub fn with_ways(topology: Topology, header: &Header) -> Result<Topology, NumasimError> {
    let map = llc_map(&topology, header)?;
    let mut parts = topology.clone().into_parts();
    for llc in &mut parts.llcs {
        if let Some(figures) = map.get(&llc.id).and_then(|index| header.llcs.get(*index)) {
            llc.size = Some(Bytes(figures.bytes));
            llc.ways = Some(Ways(figures.ways));
        }
    }
    let full = header.llcs.iter().map(LlcFigures::full_mask).fold(u64::MAX, |all, mask| all & mask);
    parts.allocation = Some(CacheAllocation {
        resource: "numasim".to_owned(),
        cbm_mask: full,
        min_cbm_bits: 1,
        num_closids: num::narrow(header.classes),
        shareable_bits: 0,
        num_rmids: None,
        bandwidth: None,
    });
    // Only figures were changed, so ids and references are still valid.
    Ok(Topology::new(parts).unwrap_or(topology))
}

fn page_llc(topology: &Topology, header: &Header, llc: LlcId) -> Result<usize, NumasimError> {
    let cpus = topology.cpus_of_llc(llc).into_iter().flat_map(isobar_model::CpuSet::iter);
    let found: BTreeSet<usize> = cpus.filter_map(|cpu| Some(header.cpus.get(num::index(cpu.0))?.llc)).collect();
    match found.first() {
        Some(only) if found.len() == 1 => Ok(*only),
        _ => Err(NumasimError::Llc { llc, count: found.len() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;
    use numasim_page::Place;

    /// A page with two LLCs; `llcs` has the LLC of each CPU.
    fn header(llcs: [usize; 4]) -> Header {
        Header {
            classes: 4,
            llcs: vec![LlcFigures { ways: 16, bytes: 65_536 }, LlcFigures { ways: 11, bytes: 45_056 }],
            nodes: vec![1, 1],
            cpus: llcs.iter().map(|llc| Place { node: *llc, llc: *llc }).collect(),
            ..Header::default()
        }
    }

    #[test]
    fn caches_are_those_of_the_page() {
        let machine = with_ways(synthetic("node:2 core:2").unwrap(), &header([1, 1, 0, 0])).unwrap();
        let figures: Vec<_> = machine.llcs().iter().map(|llc| (llc.ways, llc.size)).collect();
        assert_eq!(figures, [(Some(Ways(11)), Some(Bytes(45_056))), (Some(Ways(16)), Some(Bytes(65_536)))]);
        let allocation = machine.allocation().unwrap();
        assert_eq!((allocation.cbm_mask, allocation.num_closids, allocation.min_cbm_bits), (0x7ff, 4, 1));
    }

    #[test]
    fn another_machine_than_the_pages_is_refused() {
        let said = |machine: &str, llcs| with_ways(synthetic(machine).unwrap(), &header(llcs)).unwrap_err().to_string();
        assert!(said("node:2 core:3", [0, 0, 1, 1]).contains("the kernel has CPU 4, but the page has 4 CPUs"));
        assert!(said("node:2 core:2", [0, 1, 1, 1]).contains("llc 0 has CPUs of 2 last-level caches"));
    }
}
