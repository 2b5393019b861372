//! `isobar probe`: checks that there is a figure for every pair of nodes, that the pages are where
//! they should be according to the kernel (`numa_maps`), and that they come back if another process
//! moves them.

use crate::evidence::{list, numbered, status, text, threads};
use crate::isobar::{self, Manage};
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;

const NODES: &str = "/sys/devices/system/node";

/// Number of pages on each node that each probing thread has.
const PAGES: u64 = 20;

pub fn checks(suite: &mut Suite) {
    suite.check("probe: there is a latency from every node to every node", || {
        let document = undisturbed()?;
        let nodes = numbered(NODES, "node")?;
        same("nodes", &document["nodes"], &nodes.iter().copied().collect())?;
        for key in ["latency_ns", "p95_ns", "idle_ns"] {
            let figures = cells(&document[key]).into_iter().flatten().filter(|figure| *figure > 0.0).count();
            same(key, figures, nodes.len() * nodes.len()).with_context(|| document["not_measured"].to_string())?;
        }
        same("CPU times", document["cost_us"].as_array().map_or(0, Vec::len), nodes.len())
    });
    suite.check("probe: pages are on their nodes, and come back when something moves them", pages);
}

/// What a probe reports in a quiet moment. If other work interrupts nearly every load from a node,
/// isobar says so and measures nothing there.
fn undisturbed() -> Result<Value> {
    let mut document = Value::Null;
    for _ in 0..4 {
        document = isobar::json(&["probe", "--json"])?;
        if !document["not_measured"].to_string().contains("was interrupted") {
            break;
        }
    }
    Ok(document)
}

/// A guest with a node that has only memory: no loads come from that node, but there are loads from
/// its memory.
pub fn memory_only_node(suite: &mut Suite) {
    suite.check("probe: a node without CPUs has an empty row and a full column", || {
        let document = isobar::json(&["probe", "--json"])?;
        let nodes = numbered(NODES, "node")?;
        let table = rows(&document["latency_ns"]);
        for (node, row) in nodes.iter().zip(&table) {
            let has_cpus = !list(&text(format!("{NODES}/node{node}/cpulist"))?).is_empty();
            ensure!(row.iter().all(|cell| cell.is_some() == has_cpus), "row of node {node}: {row:?}");
        }
        let why = document["not_measured"].to_string();
        ensure!(why.contains("has no CPU online"), "it does not say why: {why}");
        Ok(())
    });
}

fn pages() -> Result<()> {
    let nodes = numbered(NODES, "node")?;
    let words = "probe --json --interval 1 --count 10000";
    let mut probe = Manage::start(&words.split(' ').map(str::to_owned).collect::<Vec<_>>())?;
    let pid = probe.pid();
    let expected: BTreeMap<(u32, u32), u64> =
        nodes.iter().map(|node| ((*node, *node), PAGES * nodes.len() as u64)).collect();
    probe.until("pages on every node", || Ok(placed(pid)? == expected))?;
    let mut pinned = BTreeMap::new();
    for tid in threads(pid)? {
        let name = text(format!("/proc/{pid}/task/{tid}/comm"))?;
        if let Some(node) = name.strip_prefix("probe-").and_then(|node| node.parse::<u32>().ok()) {
            pinned.insert(node, list(&status(pid, tid, "Cpus_allowed_list")?));
        }
    }
    same("probing threads", pinned.keys().copied().collect::<Vec<_>>(), nodes.clone())?;
    for (node, cpus) in pinned {
        let own = list(&text(format!("{NODES}/node{node}/cpulist"))?);
        // One of these CPUs during a round; all of them between rounds, so that an idle one is
        // found.
        let inside = !cpus.is_empty() && cpus.iter().all(|cpu| own.contains(cpu));
        ensure!(inside, "the thread of node {node} may run on {cpus:?}, and has {own:?}");
    }
    let mut subject = Subject::start("mover")?;
    probe.epochs(1)?;
    let left = subject.ask(&format!("migrate {pid} 1 2"))?;
    let after = placed(pid)?;
    probe.epochs(3)?;
    let last = probe.reported()?.pop().context("no report")?;
    let rebound = last["rebound_pages"].as_u64();
    ensure!(rebound >= Some(PAGES), "{left}, pages were then at {after:?}, and {rebound:?} came back");
    probe.until("pages on their nodes again", || Ok(placed(pid)? == expected))?;
    probe.end_by(Signal::TERM)?.fine().map(drop)
}

/// Number of pages by the node that their mapping prefers and the node that they are on.
fn placed(pid: u32) -> Result<BTreeMap<(u32, u32), u64>> {
    let mut found = BTreeMap::new();
    for line in text(format!("/proc/{pid}/numa_maps"))?.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let preferred = words.get(1).and_then(|policy| policy.strip_prefix("prefer:")?.parse::<u32>().ok());
        let Some(preferred) = preferred else { continue };
        for word in &words {
            let on = word.strip_prefix('N').and_then(|rest| rest.split_once('='));
            let on = on.and_then(|(node, count)| Some((node.parse().ok()?, count.parse::<u64>().ok()?)));
            if let Some((node, count)) = on {
                *found.entry((preferred, node)).or_default() += count;
            }
        }
    }
    Ok(found)
}

fn rows(table: &Value) -> Vec<Vec<Option<f64>>> {
    let row = |row: &Value| row.as_array().into_iter().flatten().map(Value::as_f64).collect();
    table.as_array().into_iter().flatten().map(row).collect()
}

fn cells(table: &Value) -> Vec<Option<f64>> {
    rows(table).into_iter().flatten().collect()
}
