//! Tests what a person sees, as a whole, on small machines.

use super::json;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::topology::{AccessClass, BandwidthShares, CacheAllocation, Cpu, Llc, Node, Parts};
use isobar_model::{Bandwidth, Bytes, CoreId, CpuId, LlcId, Nanoseconds, NodeId, Topology, Ways};

fn draw(machine: &Topology) -> String {
    super::draw(machine, 100)
}

fn node(id: u32, memory: Option<u64>) -> Node {
    Node { id: NodeId(id), memory: memory.map(Bytes), max_bandwidth: None }
}

fn cpu(id: u32, llc: Option<u32>, node: Option<u32>) -> Cpu {
    Cpu { id: CpuId(id), core: CoreId(id), llc: llc.map(LlcId), node: node.map(NodeId) }
}

#[test]
fn siblings_far_apart_are_two_lists() {
    insta::assert_snapshot!(draw(&synthetic("node:2 llc:1 core:4 pu:2").unwrap()));
}

#[test]
fn awkward_machines_are_drawn_whole() {
    // One LLC over two nodes, a CPU without an LLC, a CPU without a node, a node with memory only,
    // and unknown memory.
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
    insta::assert_snapshot!(draw(&Topology::new(parts).unwrap()));
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
        bandwidth: Some(BandwidthShares { least_percent: 10, step_percent: 10 }),
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
    insta::assert_snapshot!(draw(&Topology::new(parts).unwrap()));
}

#[test]
fn many_llcs_of_one_kind_share_lines() {
    let drawn = draw(&synthetic("node:1 llc:16 core:4 pu:2").unwrap());
    assert!(drawn.contains("16 LLCs, each L3 · 8 MiB · 16 ways; their CPUs:"), "{drawn}");
    assert!(drawn.contains(" 15: 60-63 + 124-127 "), "{drawn}");
    assert!(drawn.lines().count() < 12, "{drawn}");
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
