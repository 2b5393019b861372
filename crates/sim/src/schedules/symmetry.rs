//! The symmetries of a machine: exchanges of its last-level caches, with their nodes and links,
//! that leave the machine the same. A workload runs equally fast after such an exchange. This file
//! knows nothing of programs.

use crate::machine::{Classes, MachineSpec};
use isobar_contention::Cache;
use std::collections::BTreeMap;

/// The largest number of symmetries searched for. A subset of the symmetries also gives a correct
/// result, but leaves more assignments to evaluate.
const MOST: usize = 400;

/// One symmetry, by position: where each LLC and each node goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetry {
    pub llcs: Vec<usize>,
    pub nodes: Vec<usize>,
}

impl Symmetry {
    pub fn identity(machine: &MachineSpec) -> Self {
        Self { llcs: (0..machine.memory.llcs().len()).collect(), nodes: (0..machine.pages.len()).collect() }
    }
}

/// The properties of an LLC that matter to the search: two LLCs that differ here cannot be
/// exchanged.
#[derive(Clone, Debug, PartialEq)]
struct Llc {
    node: usize,
    cache: (Cache, Classes),
    /// CPUs of each of its cores, sorted.
    cores: Vec<usize>,
}

/// The symmetries of a machine, the identity first; never empty.
pub fn symmetries(machine: &MachineSpec) -> Vec<Symmetry> {
    let mut search = Search { machine, llcs: llcs(machine), found: vec![Symmetry::identity(machine)], steps: 0 };
    search.extend(&mut Vec::new(), &mut vec![None; machine.pages.len()]);
    search.found
}

fn llcs(machine: &MachineSpec) -> Vec<Llc> {
    let one = |position: usize| {
        let here = machine.topology.cpus().iter().filter(|cpu| machine.places[&cpu.id].llc == position);
        let mut cores: BTreeMap<_, usize> = BTreeMap::new();
        here.clone().for_each(|cpu| *cores.entry(cpu.core).or_default() += 1);
        let mut cores: Vec<_> = cores.into_values().collect();
        cores.sort_unstable();
        let node = here.map(|cpu| machine.places[&cpu.id].node).next().unwrap_or_default();
        Llc { node, cache: (machine.memory.llcs()[position], machine.classes[position]), cores }
    };
    (0..machine.memory.llcs().len()).map(one).collect()
}

struct Search<'a> {
    machine: &'a MachineSpec,
    llcs: Vec<Llc>,
    found: Vec<Symmetry>,
    steps: usize,
}

impl Search<'_> {
    /// Finds an image for the next LLC, then for those after it.
    fn extend(&mut self, images: &mut Vec<usize>, nodes: &mut Vec<Option<usize>>) {
        self.steps += 1;
        if self.found.len() >= MOST || self.steps > 100 * MOST {
            return;
        }
        let next = images.len();
        if next == self.llcs.len() {
            self.accept(images, nodes);
            return;
        }
        for image in 0..self.llcs.len() {
            let (from, to) = (&self.llcs[next], &self.llcs[image]);
            let alike = from.cache == to.cache && from.cores == to.cores;
            let (from, to) = (from.node, to.node);
            if !alike || images.contains(&image) || !self.may_go(from, to, nodes) {
                continue;
            }
            let before = nodes[from].replace(to);
            images.push(image);
            self.extend(images, nodes);
            images.pop();
            nodes[from] = before;
        }
    }

    /// Whether a node may go to another, given where the nodes before it go.
    fn may_go(&self, from: usize, to: usize, nodes: &[Option<usize>]) -> bool {
        if let Some(image) = nodes[from] {
            return image == to;
        }
        let latency = |a: usize, b: usize| self.machine.memory.latency()[a][b];
        let alike = |a: usize, b: usize, c: usize, d: usize| latency(a, b).total_cmp(&latency(c, d)).is_eq();
        let known = nodes.iter().enumerate().filter_map(|(node, image)| Some((node, (*image)?)));
        !nodes.contains(&Some(to))
            && self.machine.pages[from] == self.machine.pages[to]
            && self.machine.memory.resources()[from] == self.machine.memory.resources()[to]
            && alike(from, from, to, to)
            && known.into_iter().all(|(node, image)| alike(from, node, to, image) && alike(node, from, image, to))
    }

    /// Records a complete exchange if the links follow it. Nodes without CPUs stay where they are.
    fn accept(&mut self, images: &[usize], nodes: &[Option<usize>]) {
        let mut all = nodes.to_vec();
        for node in 0..all.len() {
            if all[node].is_none() && self.may_go(node, node, &all) {
                all[node] = Some(node);
            }
        }
        let Some(nodes) = all.into_iter().collect::<Option<Vec<_>>>() else { return };
        let found = Symmetry { llcs: images.to_vec(), nodes };
        if found != self.found[0] && self.links_follow(&found.nodes) {
            self.found.push(found);
        }
    }

    /// Whether there is one exchange of link directions that turns every route into the route
    /// between the images of its ends.
    fn links_follow(&self, nodes: &[usize]) -> bool {
        let memory = &self.machine.memory;
        let resources = memory.resources();
        let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
        let pairs = (0..nodes.len()).flat_map(|a| (0..nodes.len()).map(move |b| (a, b)));
        pairs.into_iter().all(|(a, b)| {
            let (route, image) = (memory.route(a, b), memory.route(nodes[a], nodes[b]));
            route.len() == image.len()
                && route.iter().zip(image).all(|(link, to)| {
                    *there.entry(*link).or_insert(*to) == *to
                        && *back.entry(*to).or_insert(*link) == *link
                        && resources[*link] == resources[*to]
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::find;

    fn count(text: &str) -> usize {
        symmetries(&MachineSpec::synthetic(text).unwrap()).len()
    }

    #[test]
    fn alike_nodes_and_caches_may_be_exchanged() {
        assert_eq!(count("node:2 llc:1 core:4"), 2);
        assert_eq!(count("node:1 llc:3 core:2"), 6);
        // The nodes may be exchanged, and the two caches of each.
        assert_eq!(count("node:2 llc:2 core:2"), 8);
        assert_eq!(symmetries(&find("nehalem-2x4").unwrap()).len(), 2);
    }

    #[test]
    fn a_square_is_turned_and_mirrored_only_as_its_routes_allow() {
        let found = symmetries(&find("barcelona-4x4").unwrap());
        assert!((2..=8).contains(&found.len()), "{found:?}");
        assert!(found.iter().all(|one| (one.nodes[0] + one.nodes[3]) % 3 == 0), "opposite corners stay opposite");
    }

    #[test]
    fn a_smaller_node_is_not_exchanged() {
        let mut machine = MachineSpec::synthetic("node:2 core:2").unwrap();
        machine.pages[1] /= 2;
        assert_eq!(symmetries(&machine).len(), 1);
    }
}
