//! `isobar topo` compared with sysfs, which is read here again by other code: nodes, CPUs, cores,
//! LLCs, distances, memory, HMAT.

use crate::evidence::{list, number, numbered, text};
use crate::isobar;
use crate::suite::{Suite, same};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NODES: &str = "/sys/devices/system/node";
const CPUS: &str = "/sys/devices/system/cpu";

pub fn checks(suite: &mut Suite) {
    let topo = isobar::json(&["topo", "--json"]);
    let mut check = |name: &str, body: fn(&Value) -> Result<()>| {
        suite.check(&format!("topo: {name}"), || match &topo {
            Ok(topo) => body(topo),
            Err(error) => anyhow::bail!("isobar topo: {error:#}"),
        });
    };
    check("nodes and their CPUs are the kernel's", nodes);
    check("memory is the kernel's", memory);
    check("distances are the kernel's, row by row", distances);
    check("LLCs, their sizes and CPUs are the kernel's", llcs);
    check("SMT siblings share a core, others do not", cores);
    check("HMAT access is the kernel's", hmat);
    suite.check("topo: the drawing names every node", || {
        let said = isobar::run(&["topo"])?;
        let drawn = &said.fine()?.out;
        let missing: Vec<_> =
            numbered(NODES, "node")?.into_iter().filter(|n| !drawn.contains(&format!("node {n}"))).collect();
        same("nodes not drawn", missing, Vec::new())
    });
}

/// A guest whose firmware has no cache tables: the kernel assumes an L2 and an L3 that all CPUs
/// share.
pub fn without_caches(suite: &mut Suite) {
    suite.check("topo: an LLC that the kernel only guesses is not believed, and that is said", || {
        let guessed = text(format!("{CPUS}/cpu0/cache/index2/shared_cpu_list"))?;
        anyhow::ensure!(
            list(&guessed).len() > 2,
            "the kernel guesses nothing ({guessed}): the check would prove nothing"
        );
        let topo = isobar::json(&["topo", "--json"])?;
        nodes(&topo)?;
        distances(&topo)?;
        same("LLCs", rows(&topo, "llcs").count(), 0)?;
        let said = isobar::run(&["topo"])?.fine()?.out.clone();
        anyhow::ensure!(said.contains("no last-level cache"), "it does not say so: {said}");
        Ok(())
    });
}

fn nodes(topo: &Value) -> Result<()> {
    let node = |n: u32| Ok(json!({"id": n, "cpus": list(&text(format!("{NODES}/node{n}/cpulist"))?)}));
    let expected = numbered(NODES, "node")?.into_iter().map(node).collect::<Result<Vec<_>>>()?;
    let found: Vec<_> = rows(topo, "nodes").map(|node| json!({"id": node["id"], "cpus": node["cpus"]})).collect();
    same("nodes", found, expected)
}

fn memory(topo: &Value) -> Result<()> {
    let total = |n: u32| -> Result<u64> {
        let info = text(format!("{NODES}/node{n}/meminfo"))?;
        let line = info.lines().find(|line| line.contains("MemTotal:")).context("no MemTotal")?;
        let kib: u64 = line.split_whitespace().nth(3).context("no value")?.parse()?;
        Ok(kib * 1024)
    };
    let expected = numbered(NODES, "node")?.into_iter().map(total).collect::<Result<Vec<_>>>()?;
    let found: Vec<_> = rows(topo, "nodes").filter_map(|node| node["memory_bytes"].as_u64()).collect();
    same("bytes by node", found, expected)
}

fn distances(topo: &Value) -> Result<()> {
    let row = |n: u32| -> Result<Value> {
        let row = text(format!("{NODES}/node{n}/distance"))?;
        Ok(row.split_whitespace().filter_map(|d| d.parse::<u32>().ok()).collect())
    };
    let expected: Value = numbered(NODES, "node")?.into_iter().map(row).collect::<Result<Vec<_>>>()?.into();
    same("distances", &topo["distances"], &expected)
}

fn llcs(topo: &Value) -> Result<()> {
    let mut expected = BTreeSet::new();
    for cpu in list(&text(format!("{CPUS}/online"))?) {
        let folder = format!("{CPUS}/cpu{cpu}/cache");
        let mut last = (0, String::new());
        for index in numbered(&folder, "index")? {
            let level: u32 = number(format!("{folder}/index{index}/level"))?;
            if text(format!("{folder}/index{index}/type"))? != "Instruction" {
                last = last.max((level, format!("{folder}/index{index}")));
            }
        }
        let kib = text(format!("{}/size", last.1))?;
        let kib: u64 = kib.trim_end_matches('K').parse().with_context(|| kib.clone())?;
        expected.insert((list(&text(format!("{}/shared_cpu_list", last.1))?), u64::from(last.0), kib * 1024));
    }
    let cpus = |llc: &Value| llc["cpus"].as_array().into_iter().flatten().filter_map(number_of).collect::<Vec<_>>();
    let llc = |llc: &Value| Some((cpus(llc), llc["level"].as_u64()?, llc["size_bytes"].as_u64()?));
    same("LLCs", rows(topo, "llcs").filter_map(llc).collect(), expected)
}

fn cores(topo: &Value) -> Result<()> {
    let siblings = |cpu: u32| Ok(list(&text(format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"))?));
    let expected = list(&text(format!("{CPUS}/online"))?).into_iter().map(siblings).collect::<Result<Vec<_>>>()?;
    let all: Vec<(u32, &Value)> =
        rows(topo, "cpus").filter_map(|cpu| Some((number_of(&cpu["id"])?, &cpu["core"]))).collect();
    let sharing =
        |core: &Value| all.iter().filter(|(_, other)| *other == core).map(|(cpu, _)| *cpu).collect::<Vec<_>>();
    same("siblings of each CPU", all.iter().map(|(_, core)| sharing(core)).collect(), expected)
}

/// Class 1 differs from class 0 only if a node without CPUs has other initiators. Both are compared
/// if the kernel shows them.
fn hmat(topo: &Value) -> Result<()> {
    let mut expected = Vec::new();
    for node in numbered(NODES, "node")? {
        for class in numbered(&format!("{NODES}/node{node}"), "access")? {
            let folder = format!("{NODES}/node{node}/access{class}/initiators");
            let mib = |key: &str| number::<u32>(format!("{folder}/{key}")).ok().filter(|v| *v > 0);
            let rate = |key: &str| mib(key).map(|mib| f64::from(mib) * 1_048_576.0);
            expected.push(json!({
                "memory_node": node, "class": class, "initiators": numbered(&folder, "node")?,
                "read_latency_ns": mib("read_latency").map(f64::from), "write_latency_ns": mib("write_latency").map(f64::from),
                "read_bandwidth": rate("read_bandwidth"), "write_bandwidth": rate("write_bandwidth"),
            }));
        }
    }
    anyhow::ensure!(!expected.is_empty(), "this guest has no HMAT: the check would prove nothing");
    let mut found: Vec<Value> = rows(topo, "access").cloned().collect();
    let order = |row: &Value| (row["memory_node"].as_u64(), row["class"].as_u64());
    found.sort_by_key(order);
    expected.sort_by_key(order);
    same("HMAT", found, expected)
}

fn rows<'a>(topo: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    topo[key].as_array().into_iter().flatten()
}

fn number_of(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}
