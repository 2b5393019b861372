//! Properties of the policies that decide on latency, over random machines and observations.

use super::{Case, case, observations};
use isobar_model::{
    Action, CpuId, Nanoseconds, NodeId, NodeMap, NodeMatrix, Observation, PageSelection, Pages, Plan, num,
};
use isobar_policy::Settings;
use isobar_policy::registry::build;
use proptest::prelude::*;
use std::collections::BTreeMap;

const LATENCY: [&str; 4] = ["cama", "capm", "camm", "colloid"];

fn decided(name: &str, seen: &Observation) -> Plan {
    build(name, &Settings::default()).unwrap().decide(seen)
}

fn pages_on(pages: Option<&NodeMap<Pages>>, node: NodeId) -> u64 {
    pages.map_or(u64::MAX, |pages| pages.get(node).map_or(0, |pages| pages.0))
}

/// The first observation of a case with one thread per process, so that no node ties with another.
fn single(case: &Case) -> Observation {
    let mut seen = observations(case, |id| id).swap_remove(0);
    seen.processes.iter_mut().for_each(|process| process.threads.truncate(1));
    seen
}

fn set_latency(seen: &mut Observation, of: impl Fn(NodeId, NodeId) -> f64) {
    let nodes: Vec<NodeId> = seen.machine.nodes().iter().map(|node| node.id).collect();
    let row = |from: &NodeId| nodes.iter().map(|to| Nanoseconds(of(*from, *to))).collect();
    (seen.latency, seen.latency_cycles) = (NodeMatrix::from_rows(nodes.clone(), nodes.iter().map(row).collect()), None);
}

/// Node n becomes node `count - 1 - n`, in everything that is observed of it.
fn mirrored(seen: &Observation) -> Observation {
    let mut other = seen.clone();
    let last = num::narrow(seen.machine.nodes().len()) - 1;
    let turn = |node: NodeId| NodeId(last - node.0);
    let across = |cpu: CpuId| {
        let on = |node: NodeId| seen.machine.cpus_of_node(node).unwrap().iter();
        let node = seen.machine.node_of(cpu).unwrap();
        on(node).zip(on(turn(node))).find(|(own, _)| *own == cpu).unwrap().1
    };
    let by_node = |pages: &NodeMap<Pages>| pages.iter().map(|(node, pages)| (turn(node), *pages)).collect();
    other.free = seen.free.iter().map(|(node, free)| (turn(node), *free)).collect();
    for process in &mut other.processes {
        process.pages = process.pages.as_ref().map(by_node);
        process.accessed_pages = process.accessed_pages.as_ref().map(by_node);
        for thread in &mut process.threads {
            thread.cpu = thread.cpu.map(across);
        }
    }
    if let Some(latency) = &seen.latency {
        set_latency(&mut other, |from, to| latency.get(turn(from), turn(to)).unwrap().0);
    }
    other
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_more_pages_move_than_were_accessed_or_fit(case in case()) {
        for seen in observations(&case, |id| id) {
            for name in LATENCY {
                let mut arriving: BTreeMap<NodeId, u64> = BTreeMap::new();
                for action in &decided(name, &seen).actions {
                    let Action::MigratePages { pid, from, to, pages, select, .. } = action else { continue };
                    let process = seen.process(*pid).unwrap();
                    let measured = process.accessed_pages.is_some();
                    let wanted = if measured { PageSelection::Accessed } else { PageSelection::ResidentSet };
                    prop_assert_eq!(*select, wanted);
                    prop_assert!(pages.0 <= pages_on(process.accessed_pages.as_ref(), *from), "{}", name);
                    *arriving.entry(*to).or_default() += pages.0;
                }
                for (node, pages) in arriving {
                    // The reserve is 2 % of 4 GiB.
                    let usable = seen.free.get(node).unwrap().0.saturating_sub((4 << 30) / 50);
                    prop_assert!(pages <= usable / 4096, "{}: {} pages to node {}", name, pages, node);
                }
            }
        }
    }

    #[test]
    fn equal_congestion_gives_no_action(case in case(), local in 100u32..1000, penalty in 0u32..500) {
        let mut seen = single(&case);
        set_latency(&mut seen, |from, to| f64::from(if from == to { local } else { local + penalty }));
        for process in &mut seen.processes {
            let home = seen.machine.node_of(process.threads[0].cpu.unwrap()).unwrap();
            process.pages = Some(NodeMap::from_iter([(home, Pages(20_000))]));
            process.accessed_pages = process.pages.clone();
        }
        // A full node is not a matter of congestion.
        seen.free = seen.machine.nodes().iter().map(|node| (node.id, node.memory.unwrap())).collect();
        for name in LATENCY {
            prop_assert_eq!(decided(name, &seen), Plan::nothing(name));
        }
    }

    #[test]
    fn within_the_threshold_no_page_moves(case in case(), percents in prop::collection::vec(0u32..5, 16)) {
        let mut seen = single(&case);
        set_latency(&mut seen, |from, to| 100.0 + f64::from(percents[num::index(from.0 * 4 + to.0)]));
        for name in ["capm", "camm", "colloid"] {
            let plan = decided(name, &seen);
            prop_assert!(!plan.actions.iter().any(|it| matches!(it, Action::MigratePages { .. })), "{}", name);
        }
    }

    #[test]
    fn without_latency_there_is_a_note_and_no_action(case in case()) {
        let mut seen = single(&case);
        (seen.latency, seen.latency_cycles) = (None, None);
        for name in LATENCY {
            let plan = decided(name, &seen);
            prop_assert!(plan.actions.is_empty() && plan.notes.len() == 1, "{:?}", plan);
        }
    }

    #[test]
    fn renaming_nodes_permutes_the_plan(case in case()) {
        let mut seen = single(&case);
        seen.latency_cycles = None;
        let last = num::narrow(seen.machine.nodes().len()) - 1;
        for name in LATENCY {
            let of = |plan: Plan, turn: &dyn Fn(NodeId) -> u32| -> Vec<(u32, u32, u32, u64)> {
                let of = |action: &Action| match action {
                    Action::MigratePages { pid, from, to, pages, .. } => (pid.0, turn(*from), turn(*to), pages.0),
                    Action::SetAllocation { pid, node, .. } => (pid.0, turn(*node), 0, 0),
                    other => panic!("{other:?}"),
                };
                plan.actions.iter().map(of).collect()
            };
            let (plain, turned) = (decided(name, &seen), decided(name, &mirrored(&seen)));
            prop_assert_eq!(of(plain, &|node| node.0), of(turned, &|node| last - node.0), "{}", name);
        }
    }
}
