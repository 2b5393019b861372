//! All counters as JSON, written when QEMU ends.

use crate::error;
use crate::world::World;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Report<'a> {
    machine: &'a str,
    /// Guest time that was modelled, nanoseconds.
    guest_ns: u64,
    windows: u64,
    yields: u64,
    cpu: Vec<Cpu>,
    node: Vec<Carried>,
    link: Vec<Carried>,
}

#[derive(Serialize)]
struct Cpu {
    instructions: u64,
    accesses: u64,
    llc_references: u64,
    llc_misses: u64,
    misses_by_node: Vec<u64>,
    bytes_read: u64,
    bytes_written: u64,
    covered_by_streams: u64,
    stall_ns: u64,
    busy_ns: u64,
}

#[derive(Serialize)]
struct Carried {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<u32>,
    bytes: u64,
    busy_ns: u64,
}

/// Makes the file of the report, so that what is wrong with it is known before anything runs.
///
/// # Errors
/// It cannot be made, in one line.
pub fn make(path: &Path) -> Result<(), String> {
    std::fs::write(path, "").map_err(|why| unwritable(path, &why))
}

fn unwritable(path: &Path, why: &std::io::Error) -> String {
    format!("out={}: cannot be written: {why}", path.display())
}

/// Writes the report where the arguments said, if they did. Where it cannot be written, QEMU's exit
/// status says so too.
pub fn write(world: &World) {
    let Some(path) = &world.out else { return };
    let text = serde_json::to_string_pretty(&report(world)).unwrap_or_default();
    std::fs::write(path, text + "\n").unwrap_or_else(|why| error::end(&unwritable(path, &why)));
}

fn report(world: &World) -> Report<'_> {
    let node = world.machine.node_counters().map(|node| Carried {
        from: None,
        to: None,
        bytes: node.bytes,
        busy_ns: node.busy_ps / 1000,
    });
    let link = world.machine.link_counters();
    let link = link.map(|link| Carried {
        from: Some(link.from),
        to: Some(link.to),
        bytes: link.bytes,
        busy_ns: link.busy_ps / 1000,
    });
    Report {
        machine: &world.spec.name,
        guest_ns: (world.windows.base() - world.began) / 1000,
        windows: world.closed,
        yields: world.yields,
        cpu: (0..world.ran.len()).map(|cpu| counted(world, cpu)).collect(),
        node: node.collect(),
        link: link.collect(),
    }
}

fn counted(world: &World, cpu: usize) -> Cpu {
    let counters = world.machine.cpu_counters(cpu);
    Cpu {
        instructions: world.instructions[cpu],
        accesses: counters.accesses + world.again[cpu],
        llc_references: counters.private_misses,
        llc_misses: counters.llc_misses,
        misses_by_node: counters.misses_by_node[..world.spec.node.len()].to_vec(),
        bytes_read: counters.bytes_read,
        bytes_written: counters.bytes_written,
        covered_by_streams: counters.prefetched,
        stall_ns: counters.stall_ps / 1000,
        busy_ns: world.ran[cpu] / 1000,
    }
}
