//! Observations as JSON: what `isobar decide` reads and a recording holds.

use super::machine::{MachineDoc, machine_to_doc};
use super::{WireError, count, figure, read};
use crate::cpuset::CpuSet;
use crate::ids::{CpuId, NodeId, Pid, Tid};
use crate::maps::{NodeMap, NodeMatrix};
use crate::observation::{CacheClass, Observation, Process, Thread};
use crate::topology::Topology;
use crate::units::{Bandwidth, Nanoseconds, Pages, Seconds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObservationDoc {
    time: f64,
    interval: f64,
    machine: MachineDoc,
    #[serde(default)]
    latency_ns: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    latency_cycles: Option<Vec<Vec<f64>>>,
    processes: Vec<ProcessDoc>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProcessDoc {
    pid: Pid,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    pages: Option<Vec<u64>>,
    #[serde(default)]
    accessed_pages: Option<Vec<u64>>,
    #[serde(default)]
    numa_penalty: Option<f64>,
    #[serde(default)]
    cache_class: Option<CacheClass>,
    #[serde(default)]
    critical_ways: Option<u32>,
    #[serde(default)]
    slowdown_by_ways: Option<Vec<f64>>,
    threads: Vec<ThreadDoc>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThreadDoc {
    tid: Tid,
    #[serde(default)]
    cpu: Option<CpuId>,
    #[serde(default)]
    allowed_cpus: Option<CpuSet>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bound: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_seconds: Option<f64>,
    #[serde(default, deserialize_with = "count")]
    instructions: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cycles: Option<u64>,
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    llc_references: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    llc_misses: Option<u64>,
    #[serde(default)]
    bandwidth: Option<f64>,
}

/// Reads and checks one observation. Processes and threads may come in any order.
///
/// # Errors
/// [`WireError`], one line that names the key: JSON of another shape, a pid or tid that occurs
/// twice, a CPU that the machine lacks, a negative figure, a list that does not have one value for
/// each node.
pub fn observation_from_json(text: &str) -> Result<Observation, WireError> {
    let doc: ObservationDoc = read(text)?;
    let machine = Arc::new(doc.machine.to_topology()?);
    if !doc.time.is_finite() {
        return Err(WireError::value("time", "expected seconds"));
    }
    if !(doc.interval.is_finite() && doc.interval > 0.0) {
        return Err(WireError::value("interval", format!("{} is no interval: expected seconds above 0", doc.interval)));
    }
    let reader = Reader { doc: &doc, machine: &machine, order: doc.machine.node_order() };
    let processes = reader.processes()?;
    let nanoseconds = reader.latency("latency_ns", doc.latency_ns.as_ref(), Nanoseconds)?;
    let cycles = reader.latency("latency_cycles", doc.latency_cycles.as_ref(), |cycles| cycles)?;
    Ok(Observation {
        time: Seconds(doc.time),
        interval: Seconds(doc.interval),
        free: doc.machine.free(),
        latency: nanoseconds,
        latency_cycles: cycles,
        processes,
        machine,
    })
}

struct Reader<'a> {
    doc: &'a ObservationDoc,
    machine: &'a Topology,
    order: Vec<NodeId>,
}

impl Reader<'_> {
    fn processes(&self) -> Result<Vec<Process>, WireError> {
        let mut pids = BTreeSet::new();
        let mut tids = BTreeSet::new();
        let mut processes = Vec::with_capacity(self.doc.processes.len());
        for (i, process) in self.doc.processes.iter().enumerate() {
            let path = format!("processes[{i}]");
            if !pids.insert(process.pid) {
                return Err(WireError::value(format!("{path}.pid"), format!("pid {} occurs twice", process.pid)));
            }
            processes.push(self.process(&path, process, &mut tids)?);
        }
        processes.sort_by_key(|process| process.pid);
        Ok(processes)
    }

    fn process(&self, path: &str, doc: &ProcessDoc, tids: &mut BTreeSet<Tid>) -> Result<Process, WireError> {
        let mut threads = Vec::with_capacity(doc.threads.len());
        for (i, thread) in doc.threads.iter().enumerate() {
            let path = || format!("{path}.threads[{i}]");
            if !tids.insert(thread.tid) {
                return Err(WireError::value(path() + ".tid", format!("tid {} occurs twice", thread.tid)));
            }
            threads.push(self.thread(path, thread)?);
        }
        threads.sort_by_key(|thread| thread.tid);
        for (i, slowdown) in doc.slowdown_by_ways.iter().flatten().enumerate() {
            figure(format!("{path}.slowdown_by_ways[{i}]"), Some(*slowdown))?;
        }
        Ok(Process {
            pid: doc.pid,
            name: doc.name.as_deref().unwrap_or("?").into(),
            pages: self.by_node(&format!("{path}.pages"), doc.pages.as_ref())?,
            accessed_pages: self.by_node(&format!("{path}.accessed_pages"), doc.accessed_pages.as_ref())?,
            numa_penalty: figure(format!("{path}.numa_penalty"), doc.numa_penalty)?,
            cache_class: doc.cache_class,
            critical_ways: doc.critical_ways,
            slowdown_by_ways: doc.slowdown_by_ways.clone(),
            threads,
        })
    }

    fn thread(&self, path: impl Fn() -> String, doc: &ThreadDoc) -> Result<Thread, WireError> {
        if let Some(cpu) = doc.cpu.filter(|cpu| self.machine.cpu(*cpu).is_none()) {
            let message = format!("the machine has no CPU {cpu}: expected one of {}", self.machine.online());
            return Err(WireError::value(path() + ".cpu", message));
        }
        if doc.allowed_cpus.as_ref().is_some_and(CpuSet::is_empty) {
            return Err(WireError::value(
                path() + ".allowed_cpus",
                "a thread may run somewhere: expected CPUs, or null for any",
            ));
        }
        let unknown = doc.allowed_cpus.iter().flat_map(CpuSet::iter).find(|cpu| self.machine.cpu(*cpu).is_none());
        if let Some(cpu) = unknown {
            let message = format!("the machine has no CPU {cpu}: expected some of {}", self.machine.online());
            return Err(WireError::value(path() + ".allowed_cpus", message));
        }
        Ok(Thread {
            tid: doc.tid,
            cpu: doc.cpu,
            allowed_cpus: doc.allowed_cpus.clone(),
            pinned: doc.pinned,
            bound: doc.bound,
            cpu_time: figure(path() + ".cpu_seconds", doc.cpu_seconds)?.map(Seconds),
            instructions: doc.instructions,
            cycles: doc.cycles,
            llc_references: doc.llc_references,
            llc_misses: doc.llc_misses,
            bandwidth: figure(path() + ".bandwidth", doc.bandwidth)?.map(Bandwidth),
        })
    }

    fn by_node(&self, path: &str, counts: Option<&Vec<u64>>) -> Result<Option<NodeMap<Pages>>, WireError> {
        let Some(counts) = counts else { return Ok(None) };
        if counts.len() != self.order.len() {
            let message =
                format!("has {} values: expected one for each of the {} nodes", counts.len(), self.order.len());
            return Err(WireError::value(path, message));
        }
        Ok(Some(self.order.iter().zip(counts).map(|(&node, &pages)| (node, Pages(pages))).collect()))
    }

    fn latency<T: Copy>(
        &self,
        path: &str,
        rows: Option<&Vec<Vec<f64>>>,
        unit: fn(f64) -> T,
    ) -> Result<Option<NodeMatrix<T>>, WireError> {
        let Some(rows) = rows else { return Ok(None) };
        for (i, row) in rows.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                figure(format!("{path}[{i}][{j}]"), Some(*value))?;
            }
        }
        let rows: Vec<Vec<T>> = rows.iter().map(|row| row.iter().map(|&value| unit(value)).collect()).collect();
        self.doc.machine.matrix(path, &rows).map(Some)
    }
}

/// The document of an observation, one line.
#[must_use]
pub fn observation_to_json(seen: &Observation) -> serde_json::Value {
    let nodes: Vec<NodeId> = seen.machine.nodes().iter().map(|node| node.id).collect();
    let by_node = |counts: &Option<NodeMap<Pages>>| -> Option<Vec<u64>> {
        let counts = counts.as_ref()?;
        Some(nodes.iter().map(|node| counts.get(*node).map_or(0, |pages| pages.0)).collect())
    };
    let process = |process: &Process| ProcessDoc {
        pid: process.pid,
        name: Some(process.name.to_string()),
        pages: by_node(&process.pages),
        accessed_pages: by_node(&process.accessed_pages),
        numa_penalty: process.numa_penalty,
        cache_class: process.cache_class,
        critical_ways: process.critical_ways,
        slowdown_by_ways: process.slowdown_by_ways.clone(),
        threads: process.threads.iter().map(thread_to_doc).collect(),
    };
    let nanoseconds =
        |table: &NodeMatrix<Nanoseconds>| table.rows().map(|row| row.iter().map(|ns| ns.0).collect()).collect();
    let doc = ObservationDoc {
        time: seen.time.0,
        interval: seen.interval.0,
        machine: machine_to_doc(&seen.machine, Some(&seen.free)),
        latency_ns: seen.latency.as_ref().map(nanoseconds),
        latency_cycles: seen.latency_cycles.as_ref().map(|table| table.rows().map(<[f64]>::to_vec).collect()),
        processes: seen.processes.iter().map(process).collect(),
    };
    serde_json::to_value(doc).unwrap_or_default()
}

fn thread_to_doc(thread: &Thread) -> ThreadDoc {
    ThreadDoc {
        tid: thread.tid,
        cpu: thread.cpu,
        allowed_cpus: thread.allowed_cpus.clone(),
        pinned: thread.pinned,
        bound: thread.bound,
        cpu_seconds: thread.cpu_time.map(|time| time.0),
        instructions: thread.instructions,
        cycles: thread.cycles,
        llc_references: thread.llc_references,
        llc_misses: thread.llc_misses,
        bandwidth: thread.bandwidth.map(|rate| rate.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the contract, with every optional value present or null.
    const EXAMPLE: &str = r#"{"time": 12, "interval": 1, "machine": {"nodes": [{"id": 0, "memory_bytes": 0, "free_bytes": 0,
        "max_bandwidth": null}], "llcs": [{"id": 0, "ways": 11, "cpus": [0, 1], "nodes": [0]}],
        "cpus": [{"id": 0, "core": 0, "llc": 0, "node": 0}, {"id": 1, "core": 1, "llc": 0, "node": 0}],
        "distances": [[10]]}, "latency_ns": [[90]], "latency_cycles": null,
        "processes": [{"pid": 1, "name": "a", "pages": [100], "accessed_pages": [40], "numa_penalty": null,
        "cache_class": null, "critical_ways": null, "slowdown_by_ways": null,
        "threads": [{"tid": 1, "cpu": 0, "allowed_cpus": null, "instructions": 0, "cycles": 0, "llc_misses": 0,
        "bandwidth": null}]}]}"#;

    fn refused(from: &str, to: &str) -> String {
        assert!(EXAMPLE.contains(from), "{from}");
        observation_from_json(&EXAMPLE.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn the_contract_s_example_survives_the_round_trip() {
        let seen = observation_from_json(EXAMPLE).unwrap();
        assert_eq!(seen.processes[0].pages.as_ref().unwrap().get(NodeId(0)), Some(&Pages(100)));
        assert_eq!(observation_from_json(&observation_to_json(&seen).to_string()).unwrap(), seen);
    }

    #[test]
    fn each_fault_names_its_key() {
        assert_eq!(
            refused(r#""cpu": 0, "allowed"#, r#""cpu": 7, "allowed"#),
            "processes[0].threads[0].cpu: the machine has no CPU 7: expected one of 0-1"
        );
        let twice = r#""threads": [{"tid": 1, "cpu": 0}, {"tid": 1, "cpu": 1}, {"#;
        assert_eq!(
            refused(r#""threads": [{"#, &twice.replace("}, {\"tid\": 1, \"cpu\": 1}, {", "}, {\"tid\": 1}, {")),
            "processes[0].threads[1].tid: tid 1 occurs twice"
        );
        let negative = refused(r#""llc_misses": 0"#, r#""llc_misses": -5"#);
        assert!(negative.starts_with("processes[0].threads[0].llc_misses: invalid value: integer `-5`"), "{negative}");
        let misspelt = refused("llc_misses", "llc_mises");
        assert!(misspelt.contains("unknown field `llc_mises`"), "{misspelt}");
        assert_eq!(
            refused("\"interval\": 1", "\"interval\": 0"),
            "interval: 0 is no interval: expected seconds above 0"
        );
        assert_eq!(
            refused("[100]", "[1, 2]"),
            "processes[0].pages: has 2 values: expected one for each of the 1 nodes"
        );
        assert_eq!(refused("[[90]]", "[[-90]]").split(':').next(), Some("latency_ns[0][0]"));
        assert!(observation_from_json("{").is_err());
        let unprintable = refused("llc_misses", r"llc\n\u001b[2J");
        assert!(unprintable.contains(r"unknown field `llc\n\u{1b}[2J`"), "{unprintable}");
        assert!(observation_from_json(&format!("{EXAMPLE} x")).is_err());
    }
}
