//! Observations as JSON: what `isobar decide` reads and what a recording holds.

use super::machine::{MachineDoc, machine_to_doc};
use super::{WireError, read};
use crate::cgroup::Cgroup;
use crate::flight::PageMove;
use crate::ids::{CpuId, NodeId, Pid, Tid};
use crate::maps::{NodeMap, NodeMatrix};
use crate::observation::{CacheClass, Observation, Process, Thread};
use crate::outcome::ActionOutcome;
use crate::topology::Topology;
use crate::units::{Figure, Nanoseconds, Pages, Seconds};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObservationDoc {
    time: f64,
    interval: f64,
    machine: MachineDoc,
    latency_ns: Option<Vec<Vec<Option<Nanoseconds>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_idle_ns: Option<Vec<Vec<Option<Nanoseconds>>>>,
    latency_cycles: Option<Vec<Vec<Option<Figure>>>>,
    processes: Vec<ProcessDoc>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    page_moves: Vec<PageMove>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProcessDoc {
    pid: Pid,
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<Cgroup>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    elsewhere: bool,
    pages: Option<Vec<u64>>,
    accessed_pages: Option<Vec<u64>>,
    numa_penalty: Option<Figure>,
    cache_class: Option<CacheClass>,
    critical_ways: Option<u32>,
    slowdown_by_ways: Option<Vec<Figure>>,
    threads: Vec<Thread>,
}

/// Reads and checks one observation. Processes and threads may come in any order.
///
/// # Errors
/// [`WireError`], one line that names the key: JSON of another shape, a pid or tid that occurs
/// twice, a CPU that the machine lacks, a negative figure, or a list that does not have one value
/// for each node.
pub fn observation_from_json(text: &str) -> Result<Observation, WireError> {
    let doc: ObservationDoc = read(text)?;
    let machine = Arc::new(doc.machine.to_topology()?);
    if !doc.time.is_finite() {
        return Err(WireError::value("time", "expected seconds"));
    }
    if !(doc.interval.is_finite() && doc.interval > 0.0) {
        return Err(WireError::value("interval", format!("{} is no interval: expected seconds above 0", doc.interval)));
    }
    let latency = doc.latency_ns.map(|rows| doc.machine.matrix("latency_ns", &rows)).transpose()?;
    let idle = doc.latency_idle_ns.map(|rows| doc.machine.matrix("latency_idle_ns", &rows)).transpose()?;
    let cycles = doc.latency_cycles.map(|rows| doc.machine.matrix("latency_cycles", &bare(rows))).transpose()?;
    let mut reader = Reader { machine: &machine, order: doc.machine.node_order(), tids: BTreeSet::new() };
    let processes = reader.processes(doc.processes)?;
    let page_moves = reader.page_moves(doc.page_moves)?;
    Ok(Observation {
        time: Seconds(doc.time),
        interval: Seconds(doc.interval),
        free: doc.machine.free(),
        latency,
        latency_idle: idle,
        latency_cycles: cycles,
        processes,
        page_moves,
        machine,
    })
}

fn bare(rows: Vec<Vec<Option<Figure>>>) -> Vec<Vec<Option<f64>>> {
    rows.into_iter().map(|row| row.into_iter().map(|figure| figure.map(|figure| figure.0)).collect()).collect()
}

/// Most pages in one count: 4 PiB of 4 KiB. Millions of such counts add up without overflow.
const MOST_PAGES: u64 = 1 << 40;

struct Reader<'a> {
    machine: &'a Topology,
    order: Vec<NodeId>,
    /// The thread ids of all processes so far.
    tids: BTreeSet<Tid>,
}

impl Reader<'_> {
    fn processes(&mut self, docs: Vec<ProcessDoc>) -> Result<Vec<Process>, WireError> {
        let mut processes: BTreeMap<Pid, Process> = BTreeMap::new();
        for (i, doc) in docs.into_iter().enumerate() {
            let (path, pid) = (format!("processes[{i}]"), doc.pid);
            if processes.contains_key(&pid) {
                return Err(WireError::value(format!("{path}.pid"), format!("pid {pid} occurs twice")));
            }
            processes.insert(pid, self.process(&path, doc)?);
        }
        Ok(processes.into_values().collect())
    }

    fn process(&mut self, path: &str, mut doc: ProcessDoc) -> Result<Process, WireError> {
        for (i, thread) in doc.threads.iter().enumerate() {
            self.check(thread).map_err(|(key, why)| WireError::value(format!("{path}.threads[{i}].{key}"), why))?;
        }
        doc.threads.sort_by_key(|thread| thread.tid);
        Ok(Process {
            pid: doc.pid,
            name: doc.name.as_deref().unwrap_or("?").into(),
            cgroup: doc.cgroup.map(Arc::new),
            elsewhere: doc.elsewhere,
            pages: self.by_node(&format!("{path}.pages"), doc.pages)?,
            accessed_pages: self.by_node(&format!("{path}.accessed_pages"), doc.accessed_pages)?,
            numa_penalty: doc.numa_penalty.map(|penalty| penalty.0),
            cache_class: doc.cache_class,
            critical_ways: doc.critical_ways,
            slowdown_by_ways: doc.slowdown_by_ways.map(|all| all.into_iter().map(|slowdown| slowdown.0).collect()),
            threads: doc.threads,
        })
    }

    /// What is wrong with a thread: the key, and the reason.
    fn check(&mut self, thread: &Thread) -> Result<(), (&'static str, String)> {
        let online = self.machine.online();
        let absent = |cpu: &CpuId| !online.contains(*cpu);
        if !self.tids.insert(thread.tid) {
            return Err(("tid", format!("tid {} occurs twice", thread.tid)));
        }
        if let Some(cpu) = thread.cpu.filter(absent) {
            return Err(("cpu", format!("the machine has no CPU {cpu}: expected one of {online}")));
        }
        let Some(allowed) = &thread.allowed_cpus else { return Ok(()) };
        if allowed.is_empty() {
            return Err(("allowed_cpus", "a thread may run somewhere: expected CPUs, or null for any".to_owned()));
        }
        let unknown = allowed.iter().find(absent);
        let wrong = |cpu| ("allowed_cpus", format!("the machine has no CPU {cpu}: expected some of {online}"));
        unknown.map_or(Ok(()), |cpu| Err(wrong(cpu)))
    }

    fn page_moves(&self, mut moves: Vec<PageMove>) -> Result<Vec<PageMove>, WireError> {
        for (i, flight) in moves.iter().enumerate() {
            countable(&format!("page_moves[{i}].pages"), flight.pages.0)?;
            if let ActionOutcome::Pages { moved, stayed } = &flight.outcome {
                let mut counts = std::iter::once(moved).chain(stayed.iter().map(|(_, pages)| pages));
                let path = format!("page_moves[{i}].outcome");
                counts.try_for_each(|pages| countable(&path, pages.0))?;
            }
            for (key, node) in [("from_node", flight.from), ("to_node", flight.to)] {
                if self.machine.node(node).is_none() {
                    let message = format!("the machine has no node {node}");
                    return Err(WireError::value(format!("page_moves[{i}].{key}"), message));
                }
            }
        }
        moves.sort_by_key(|flight| flight.number);
        Ok(moves)
    }

    fn by_node(&self, path: &str, counts: Option<Vec<u64>>) -> Result<Option<NodeMap<Pages>>, WireError> {
        let Some(counts) = counts else { return Ok(None) };
        if counts.len() != self.order.len() {
            let message =
                format!("has {} values: expected one for each of the {} nodes", counts.len(), self.order.len());
            return Err(WireError::value(path, message));
        }
        counts.iter().try_for_each(|count| countable(path, *count))?;
        Ok(Some(self.order.iter().copied().zip(counts.into_iter().map(Pages)).collect()))
    }
}

/// Refuses a count of pages that cannot be.
fn countable(path: &str, pages: u64) -> Result<(), WireError> {
    if pages > MOST_PAGES {
        let message = format!("{pages} pages are more than there can be: expected at most {MOST_PAGES}");
        return Err(WireError::value(path, message));
    }
    Ok(())
}

/// The document of an observation, in one line.
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
        cgroup: process.cgroup.as_deref().cloned(),
        elsewhere: process.elsewhere,
        pages: by_node(&process.pages),
        accessed_pages: by_node(&process.accessed_pages),
        numa_penalty: process.numa_penalty.map(Figure),
        cache_class: process.cache_class,
        critical_ways: process.critical_ways,
        slowdown_by_ways: process.slowdown_by_ways.as_ref().map(|all| all.iter().copied().map(Figure).collect()),
        threads: process.threads.clone(),
    };
    let nanoseconds = |table: &NodeMatrix<Nanoseconds>| table.rows().map(<[_]>::to_vec).collect();
    let figures =
        |table: &NodeMatrix<f64>| table.rows().map(|row| row.iter().map(|cell| cell.map(Figure)).collect()).collect();
    let doc = ObservationDoc {
        time: seen.time.0,
        interval: seen.interval.0,
        machine: machine_to_doc(&seen.machine, Some(&seen.free)),
        latency_ns: seen.latency.as_ref().map(nanoseconds),
        latency_idle_ns: seen.latency_idle.as_ref().map(nanoseconds),
        latency_cycles: seen.latency_cycles.as_ref().map(figures),
        processes: seen.processes.iter().map(process).collect(),
        page_moves: seen.page_moves.clone(),
    };
    serde_json::to_value(doc).unwrap_or_default()
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
    fn a_control_group_survives_it_too_and_none_is_absent() {
        let seen = observation_from_json(EXAMPLE).unwrap();
        assert!(!observation_to_json(&seen).to_string().contains("cgroup"));
        for cgroup in [r#"{"path": "/a.slice"}"#, r#"{"path": "/b", "name": "default/web"}"#] {
            let text = EXAMPLE.replacen(r#""name": "a""#, &format!(r#""name": "a", "cgroup": {cgroup}"#), 1);
            let seen = observation_from_json(&text).unwrap();
            assert_eq!(seen.processes[0].cgroup.as_deref(), serde_json::from_str(cgroup).ok().as_ref());
            assert_eq!(observation_from_json(&observation_to_json(&seen).to_string()).unwrap(), seen);
        }
    }

    #[test]
    fn a_process_of_another_policy_survives_it_too_and_one_s_own_is_not_marked() {
        let seen = observation_from_json(EXAMPLE).unwrap();
        assert!(!seen.processes[0].elsewhere && !observation_to_json(&seen).to_string().contains("elsewhere"));
        let marked = observation_from_json(&EXAMPLE.replacen(r#""pages":"#, r#""elsewhere": true, "pages":"#, 1));
        let marked = marked.unwrap();
        assert!(marked.processes[0].elsewhere);
        assert_eq!(observation_from_json(&observation_to_json(&marked).to_string()).unwrap(), marked);
    }

    #[test]
    fn page_migrations_under_way_survive_it_too_and_an_unknown_node_is_named() {
        let flight = concat!(
            r#""page_moves": [{"number": 3, "pid": 1, "from_node": 0, "to_node": 0, "pages": 512, "#,
            r#""outcome": {"result": "pages", "pages_moved": 12, "pages_stayed": {"busy": 1}}, "#,
            r#""age_seconds": 1.5, "copying_seconds": 0.25, "ended": false}], "latency_ns"#
        );
        let text = EXAMPLE.replacen(r#""latency_ns"#, flight, 1);
        let seen = observation_from_json(&text).unwrap();
        assert_eq!(seen.in_flight().map(PageMove::left).collect::<Vec<_>>(), [Pages(499)]);
        assert_eq!(observation_from_json(&observation_to_json(&seen).to_string()).unwrap(), seen);
        let unknown = observation_from_json(&text.replacen(r#""to_node": 0"#, r#""to_node": 7"#, 1)).unwrap_err();
        assert_eq!(unknown.to_string(), "page_moves[0].to_node: the machine has no node 7");
        for (key, value) in [("pages", 512), ("pages_moved", 12), ("busy", 1)] {
            let many = text.replacen(&format!(r#""{key}": {value}"#), &format!(r#""{key}": 18446744073709551615"#), 1);
            let refused = observation_from_json(&many).unwrap_err().to_string();
            assert!(refused.contains("18446744073709551615 pages are more than there can be"), "{key}: {refused}");
        }
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
        assert_eq!(
            refused("[100]", "[1099511627777]"),
            "processes[0].pages: 1099511627777 pages are more than there can be: expected at most 1099511627776"
        );
        assert_eq!(refused("[[90]]", "[[-90]]").split(':').next(), Some("latency_ns[0][0]"));
        assert!(observation_from_json("{").is_err());
        let unprintable = refused("llc_misses", r"llc\n\u001b[2J");
        assert!(unprintable.contains(r"unknown field `llc\n\u{1b}[2J`"), "{unprintable}");
        assert!(observation_from_json(&format!("{EXAMPLE} x")).is_err());
    }
}
