//! What a person sees, whole, on small machines.

use super::json;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::topology::{AccessClass, CacheAllocation, Cpu, Llc, Node, Parts};
use isobar_model::{Bandwidth, Bytes, CoreId, CpuId, LlcId, Nanoseconds, NodeId, Topology, Ways};

/// Wide enough for small machines side by side, or not at all.
const WIDTH: usize = 100;

fn draw(machine: &Topology) -> String {
    super::draw(machine, WIDTH)
}

fn check(machine: &Topology, expected: &[&str]) {
    let drawn = draw(machine);
    assert_eq!(drawn.lines().collect::<Vec<_>>(), expected, "\n{drawn}");
}

fn fits(drawn: &str) -> bool {
    drawn.lines().all(|line| line.chars().count() <= WIDTH && !line.ends_with(' '))
}

fn node(id: u32, memory: Option<u64>) -> Node {
    Node { id: NodeId(id), memory: memory.map(Bytes), max_bandwidth: None }
}

fn cpu(id: u32, llc: Option<u32>, node: Option<u32>) -> Cpu {
    Cpu { id: CpuId(id), core: CoreId(id), llc: llc.map(LlcId), node: node.map(NodeId) }
}

#[test]
fn siblings_far_apart_are_two_lists() {
    check(
        &synthetic("node:2 llc:1 core:4 pu:2").unwrap(),
        &[
            "2 nodes, 2 LLCs, 16 CPUs (on 8 cores), 8 GiB of memory",
            "",
            "┌─ node 0 · 4 GiB ───────────────────────────────┐",
            "│ LLC 0 · L3 · 8 MiB · 16 ways  CPUs 0-3 + 8-11  │",
            "└────────────────────────────────────────────────┘",
            "┌─ node 1 · 4 GiB ───────────────────────────────┐",
            "│ LLC 1 · L3 · 8 MiB · 16 ways  CPUs 4-7 + 12-15 │",
            "└────────────────────────────────────────────────┘",
            "0-1 + 2-3: SMT siblings stand at the same place of each list (0 and 2, 1 and 3)",
            "",
            "Distances (row: node of the CPU; column: node of the memory; 10 is local)",
            "           0   1",
            "  node 0  10  20",
            "  node 1  20  10",
        ],
    );
}

#[test]
fn awkward_machines_are_drawn_whole() {
    // One LLC over two nodes, a CPU without an LLC, a CPU without a node, a node of memory, unknown
    // memory.
    let parts = Parts {
        nodes: vec![node(0, Some(1 << 30)), node(1, None), node(7, Some(512 << 20))],
        llcs: vec![Llc { id: LlcId(0), level: 3, size: Some(Bytes(16 << 20)), ways: None }],
        cpus: vec![
            cpu(0, Some(0), Some(0)),
            cpu(1, Some(0), Some(0)),
            cpu(2, Some(0), Some(1)),
            cpu(3, None, Some(1)),
            cpu(4, Some(0), None),
        ],
        ..Parts::default()
    };
    check(
        &Topology::new(parts).unwrap(),
        &[
            "3 nodes, 1 LLC, 5 CPUs (no SMT)",
            "",
            "┌─ node 0 · 1 GiB ───────────────────────────────────────────────────────┐",
            "│ LLC 0 · L3 · 16 MiB  CPUs 0-1 (shared with node 1 and CPUs of no node) │",
            "└────────────────────────────────────────────────────────────────────────┘",
            "┌─ node 1 · memory not told ─────────────────────────────────────────────┐",
            "│ LLC 0 · L3 · 16 MiB  CPU 2 (shared with node 0 and CPUs of no node)    │",
            "│ no LLC               CPU 3                                             │",
            "└────────────────────────────────────────────────────────────────────────┘",
            "┌─ node 7 · 512 MiB ─────────────────────────────────────────────────────┐",
            "│ memory only, no CPUs                                                   │",
            "└────────────────────────────────────────────────────────────────────────┘",
            "┌─ no node ──────────────────────────────────────────────────────────────┐",
            "│ LLC 0 · L3 · 16 MiB  CPU 4 (shared with nodes 0, 1)                    │",
            "└────────────────────────────────────────────────────────────────────────┘",
            "",
            "Distances: not told by the kernel",
        ],
    );
}

#[test]
fn threads_of_one_core_stand_together() {
    let mut parts = synthetic("node:1 core:6").unwrap().into_parts();
    parts.cpus[1].core = CoreId(0);
    parts.cpus[3].core = CoreId(2);
    parts.allocation = Some(CacheAllocation {
        resource: "L3".to_owned(),
        cbm_mask: 0x7ff,
        min_cbm_bits: 2,
        num_closids: 15,
        shareable_bits: 0x600,
        num_rmids: Some(144),
    });
    parts.access = vec![AccessClass {
        memory: NodeId(0),
        class: 1,
        initiators: vec![NodeId(0)],
        read_latency: Some(Nanoseconds(90.0)),
        write_latency: None,
        read_bandwidth: Some(Bandwidth(25.6e9)),
        write_bandwidth: None,
    }];
    check(
        &Topology::new(parts).unwrap(),
        &[
            "1 node, 1 LLC, 6 CPUs (on 4 cores), 4 GiB of memory",
            "",
            "┌─ node 0 · 4 GiB ───────────────────────────────────┐",
            "│ LLC 0 · L3 · 8 MiB · 16 ways  CPUs (0-1) (2-3) 4-5 │",
            "└────────────────────────────────────────────────────┘",
            "(0-1): SMT siblings, the threads of one core",
            "",
            "Memory as the firmware rates it (HMAT)",
            "  memory of  seen from  class  read latency  write latency  read bandwidth  write bandwidth",
            "  node 0     node 0         1         90 ns              -      23.8 GiB/s                -",
            "",
            "Way allocation (resctrl L3)",
            "  11 ways (mask 0x7ff), at least 2 in a mask; 15 classes of service",
            "  ways that other agents may use too: 0x600",
            "  144 monitoring ids",
        ],
    );
}

#[test]
fn many_llcs_of_one_kind_share_lines() {
    let drawn = draw(&synthetic("node:1 llc:16 core:4 pu:2").unwrap());
    assert!(drawn.contains("16 LLCs, each L3 · 8 MiB · 16 ways; their CPUs:"), "{drawn}");
    assert!(drawn.contains(" 15: 60-63 + 124-127 "), "{drawn}");
    assert!(drawn.lines().count() < 12 && fits(&drawn), "{drawn}");
}

#[test]
fn large_machines_stay_within_the_page() {
    for machine in
        ["node:32 llc:2 core:4 pu:2", "node:2 llc:1 core:256 pu:2", "node:4 llc:64 core:1", "node:1 llc:3 core:7"]
    {
        let drawn = draw(&synthetic(machine).unwrap());
        assert!(fits(&drawn), "{machine}\n{drawn}");
    }
    // Siblings next to each other, 128 cores in one node.
    let mut parts = synthetic("node:1 core:256").unwrap().into_parts();
    parts.cpus.iter_mut().for_each(|cpu| cpu.core = CoreId(cpu.id.0 / 2 * 2));
    let drawn = draw(&Topology::new(parts).unwrap());
    assert!(fits(&drawn) && drawn.contains("(254-255)"), "{drawn}");
}

#[test]
fn every_cpu_is_drawn_once() {
    let drawn = draw(&synthetic("node:3 llc:2 core:5").unwrap());
    for range in ["0-4", "5-9", "10-14", "15-19", "20-24", "25-29"] {
        assert_eq!(drawn.matches(&format!("CPUs {range} ")).count(), 1, "{range}\n{drawn}");
    }
}

#[test]
fn an_llc_over_many_nodes_breaks_its_line() {
    let mut parts = synthetic("node:40 core:1").unwrap().into_parts();
    parts.llcs.truncate(1);
    parts.cpus.iter_mut().for_each(|cpu| cpu.llc = Some(LlcId(0)));
    let drawn = draw(&Topology::new(parts).unwrap());
    assert!(fits(&drawn), "{drawn}");
}

#[test]
fn json_has_the_keys_of_the_contract() {
    let machine = Topology::new(Parts {
        nodes: vec![node(4, None)],
        llcs: vec![Llc { id: LlcId(9), level: 2, size: None, ways: Some(Ways(8)) }],
        cpus: vec![cpu(3, Some(9), Some(4)), cpu(5, None, None)],
        ..Parts::default()
    });
    let expected = serde_json::json!({
        "nodes": [{"id": 4, "cpus": [3], "memory_bytes": null, "llcs": [9]}],
        "llcs": [{"id": 9, "level": 2, "cpus": [3], "nodes": [4], "size_bytes": null, "ways": 8}],
        "cpus": [{"id": 3, "core": 3, "llc": 9, "node": 4}, {"id": 5, "core": 5, "llc": null, "node": null}],
        "distances": null,
    });
    assert_eq!(json(&machine.unwrap()), expected);
}
