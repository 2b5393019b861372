//! For each node, the node where its new pages are cheapest (section V): the node with the lowest
//! latency in the last epoch, as seen from there, among those with free memory.

use super::allocations::{Allocations, Target};
use super::config::{Choice, Reserve};
use super::free::FreePages;
use super::latency::{NOT_MEASURED, Unit, View, views};
use crate::kit::words::OneDecimal;
use isobar_model::{NodeId, Observation, Outcome, Plan};
use std::collections::BTreeMap;

/// CAMA's decision and what it remembers. CAMA consists of this alone; CAMM combines it with CAPM.
#[derive(Clone, Debug, Default)]
pub struct Cheapest {
    chosen: BTreeMap<NodeId, NodeId>,
    allocations: Allocations,
}

impl Cheapest {
    /// Adds the changes of an epoch to its plan.
    pub fn follow(&mut self, seen: &Observation, choice: &Choice, reserve: &Reserve, plan: &mut Plan) {
        let views = views(seen, Unit::Nanoseconds);
        if views.is_empty() {
            plan.notes.push(NOT_MEASURED.to_owned());
        }
        let free = FreePages::new(seen, reserve);
        let mut wanted: BTreeMap<NodeId, (NodeId, String)> = BTreeMap::new();
        for view in &views {
            let before = self.chosen.get(&view.node).copied();
            let Some(node) = choose(view, before, choice.hysteresis_percent, &free) else { continue };
            self.chosen.insert(view.node, node);
            wanted.insert(view.node, (node, reason(view, node, &free)));
        }
        let target = |node| wanted.get(&node).map(|(target, reason)| (Target::all_on(*target), reason.clone()));
        self.allocations.follow(seen, target, plan);
    }

    /// Takes the outcome of a plan.
    pub fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.allocations.applied(plan, outcome);
    }
}

/// The node with the lowest latency among those with free memory. If no node has any, the local
/// node, as the kernel would choose. The local node wins ties.
fn choose(view: &View, before: Option<NodeId>, hysteresis_percent: f64, free: &FreePages) -> Option<NodeId> {
    let local = view.local.map(|latency| (view.node, latency));
    let mut usable = local.into_iter().chain(view.remote.iter().copied()).filter(|(node, _)| free.on(*node) > 0);
    // `min_by` returns the first of equal values, and the local node comes first.
    let Some((best, lowest)) = usable.clone().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return local.map(|(node, _)| node);
    };
    let kept = before.filter(|_| hysteresis_percent > 0.0).and_then(|before| usable.find(|(node, _)| *node == before));
    let keep = |(_, latency): &(NodeId, f64)| lowest >= latency * (1.0 - hysteresis_percent / 100.0);
    Some(kept.filter(keep).map_or(best, |(node, _)| node))
}

fn reason(view: &View, node: NodeId, free: &FreePages) -> String {
    let latency = |node| view.to(node).map_or_else(|| "not measured".to_owned(), |ns| format!("{} ns", OneDecimal(ns)));
    let full = |other: NodeId| if free.on(other) > 0 { "" } else { " and has no free memory" };
    let home = view.node;
    match view.neighbour() {
        _ if node != home => format!(
            "from node {home}, node {node} answers in {}; node {home} itself takes {}{}",
            latency(node),
            latency(home),
            full(home)
        ),
        Some((neighbour, _)) => format!(
            "from node {home}, its own memory answers in {}; node {neighbour} takes {}{}",
            latency(home),
            latency(neighbour),
            full(neighbour)
        ),
        None => format!("no other node was probed from node {home}"),
    }
}
