//! Tests machines of every size on pages of every width. No line is wider than the page, and what
//! the JSON says of nodes, caches, CPUs and distances can be read back from the drawing.

use super::{draw, json};
use crate::machines::linux::read_topology;
use crate::text::width;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::topology::{AccessClass, CacheAllocation};
use isobar_model::{Bandwidth, CoreId, CpuSet, LlcId, Nanoseconds, NodeId, Topology};
use std::collections::BTreeMap;
use std::path::Path;

const WIDTHS: [usize; 6] = [40, 60, 72, 80, 120, 200];

/// CPUs by LLC (`None`: without an LLC), by node (`None`: without a node).
type Places = BTreeMap<Option<u32>, BTreeMap<Option<u32>, CpuSet>>;

/// The boxes of a drawing: the text in their upper edges, and the words inside.
fn panels(drawn: &str) -> Vec<(String, String)> {
    let grid: Vec<Vec<char>> = drawn.lines().map(|line| line.chars().collect()).collect();
    let mut found = Vec::new();
    for (y, line) in grid.iter().enumerate() {
        for (x, _) in line.iter().enumerate().filter(|(_, c)| **c == '┌') {
            let end = x + line[x..].iter().position(|c| *c == '┐').unwrap();
            let title: String = line[x + 2..end].iter().collect();
            let rows = grid[y + 1..].iter().take_while(|row| row[x] == '│');
            let inside = rows.map(|row| {
                assert_eq!((row[end], row[end - 1]), ('│', ' '), "{drawn}");
                row[x + 2..end - 1].iter().collect::<String>()
            });
            found.push((title.trim_matches(['─', ' ']).to_owned(), inside.collect::<Vec<_>>().join(" ")));
        }
    }
    found
}

/// The CPUs of a box by LLC: the numbers after `CPUs` or, in a list of many LLCs, those after the
/// number of each LLC.
fn cpus(words: &str) -> BTreeMap<Option<u32>, CpuSet> {
    let mut found: BTreeMap<Option<u32>, CpuSet> = BTreeMap::new();
    let (mut llc, mut listing, mut aside) = (None, false, false);
    let all: Vec<&str> = words.split_whitespace().collect();
    for (index, word) in all.iter().enumerate() {
        aside |= *word == "(shared";
        if aside {
            aside = !word.ends_with(')');
            continue;
        }
        match *word {
            "LLC" => {
                let next = all[index + 1];
                (llc, listing) = (next.parse().ok(), false);
            }
            "CPU" | "CPUs" | "CPUs:" => listing = true,
            number if listing && number.ends_with(':') => llc = Some(number.trim_end_matches(':').parse().unwrap()),
            "+" | "no" => {}
            list if listing => {
                let list: CpuSet =
                    list.trim_matches(['(', ')', ',']).parse().unwrap_or_else(|_| panic!("{list}: {words}"));
                list.iter().for_each(|cpu| _ = found.entry(llc).or_default().insert(cpu));
            }
            _ => {}
        }
    }
    found
}

fn places(machine: &Topology) -> Places {
    let by_llc = |cpus: &CpuSet| {
        let mut found: BTreeMap<Option<u32>, CpuSet> = BTreeMap::new();
        let llc = |cpu| machine.llc_of(cpu).map(|llc| llc.0);
        cpus.iter().for_each(|cpu| _ = found.entry(llc(cpu)).or_default().insert(cpu));
        found
    };
    // Under `numa=fake`, a node may list CPUs that belong to another node.
    let nodes = machine.nodes().iter().map(|node| (Some(node.id.0), by_llc(machine.cpus_of_node(node.id).unwrap())));
    let homeless: CpuSet = machine.cpus().iter().filter(|cpu| cpu.node.is_none()).map(|cpu| cpu.id).collect();
    nodes.chain((!homeless.is_empty()).then(|| (None, by_llc(&homeless)))).collect()
}

fn drawn_places(panels: &[(String, String)]) -> Places {
    let id = |title: &str| title.strip_prefix("node ")?.split(' ').next()?.parse().ok();
    panels.iter().map(|(title, words)| (id(title), cpus(words))).collect()
}

/// The numbers in the table of distances, row by row.
fn distances(drawn: &str) -> BTreeMap<u32, BTreeMap<u32, u32>> {
    let mut found: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
    let mut heads: Vec<u32> = Vec::new();
    let lines = drawn.lines().skip_while(|line| !line.starts_with("Distances")).take_while(|line| !line.is_empty());
    for line in lines {
        let numbers = |words: &str| words.split_whitespace().map(str::parse).collect::<Result<Vec<u32>, _>>();
        match line.strip_prefix("  node ").map(numbers) {
            Some(Ok(row)) => {
                found.entry(row[0]).or_default().extend(heads.iter().copied().zip(row[1..].iter().copied()));
            }
            _ => heads = numbers(line).unwrap_or_default(),
        }
    }
    found
}

/// Draws a machine in every width and reads the drawings back.
#[track_caller]
fn holds(name: &str, machine: &Topology) {
    for columns in WIDTHS {
        let drawn = draw(machine, columns);
        let wide: Vec<&str> = drawn.lines().filter(|line| width(line) > columns || line.ends_with(' ')).collect();
        assert!(wide.is_empty(), "{name} in {columns} columns: {wide:#?}\n{drawn}");
        let panels = panels(&drawn);
        assert_eq!(drawn_places(&panels), places(machine), "{name} in {columns} columns\n{drawn}");
        for node in machine.nodes() {
            let title = format!("node {} · {}", node.id, super::boxes::memory(node));
            assert!(panels.iter().any(|panel| panel.0 == title), "{title}\n{drawn}");
        }
        let words = drawn.replace(['│', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ");
        for llc in machine.llcs().iter().filter(|llc| machine.cpus_of_llc(llc.id).is_some_and(|cpus| !cpus.is_empty()))
        {
            let size = llc.size.map_or_else(String::new, |size| format!(" · {}", size.human()));
            assert!(words.contains(&format!("L{}{size}", llc.level)), "LLC {}\n{drawn}", llc.id);
        }
        let given: Option<Vec<Vec<u32>>> = machine
            .distances()
            .map(|table| table.rows().map(|row| row.iter().flatten().copied().collect()).collect())
            .filter(|rows: &Vec<_>| rows.len() > 1);
        let read: Vec<Vec<u32>> = distances(&drawn).values().map(|row| row.values().copied().collect()).collect();
        assert_eq!(read, given.unwrap_or_default(), "{name} in {columns} columns\n{drawn}");
    }
    assert!(json(machine)["cpus"].as_array().is_some_and(|cpus| cpus.len() == machine.cpus().len()));
}

#[test]
fn captured_machines_fit_and_lose_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED: {} is not there, so no captured machine was drawn", folder.display());
        return;
    };
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.to_string_lossy().ends_with(".tar.bz2"));
    let mut count = 0;
    for path in paths {
        holds(&path.display().to_string(), &read_topology(Some(&path)).unwrap());
        count += 1;
    }
    assert_eq!(count, 11);
}

#[test]
fn monsters_fit_and_lose_nothing() {
    for machine in [
        "node:8 llc:4 core:32",
        "node:8 llc:4 core:16 pu:2",
        "node:64 llc:1 core:4 pu:2",
        "node:64 core:1",
        "node:2 llc:16 core:8 pu:2",
        "node:1 llc:64 core:2",
        "node:2 llc:1 core:256 pu:2",
        "node:1 llc:1 core:1",
        "node:1 llc:16 core:4 pu:2",
        "node:1 llc:3 core:7",
        "node:32 llc:2 core:4 pu:2",
        "node:3 llc:2 core:5",
    ] {
        holds(machine, &synthetic(machine).unwrap());
    }
}

#[test]
fn awkward_machines_fit_and_lose_nothing() {
    // CPUs are dealt out in turn, so that no range is longer than one number. Siblings are side by
    // side. One LLC spans all nodes. Some CPUs have neither.
    let mut dealt = synthetic("node:4 llc:2 core:32").unwrap().into_parts();
    let llcs: Vec<_> = dealt.llcs.iter().map(|llc| llc.id).collect();
    dealt.cpus.iter_mut().for_each(|cpu| {
        let place = cpu.id.0 % 8;
        (cpu.node, cpu.llc) = (Some(NodeId(place / 2)), Some(llcs[usize::try_from(place).unwrap()]));
    });
    holds("dealt round", &Topology::new(dealt).unwrap());
    let mut siblings = synthetic("node:2 core:128").unwrap().into_parts();
    siblings.cpus.iter_mut().for_each(|cpu| cpu.core = CoreId(cpu.id.0 / 2 * 2));
    holds("siblings", &Topology::new(siblings).unwrap());
    let mut one = synthetic("node:40 core:2").unwrap().into_parts();
    one.llcs.truncate(1);
    one.cpus.iter_mut().for_each(|cpu| cpu.llc = Some(LlcId(0)));
    one.cpus.iter_mut().filter(|cpu| cpu.id.0 % 7 == 0).for_each(|cpu| (cpu.node, cpu.llc) = (None, None));
    holds("one cache", &Topology::new(one).unwrap());
}

#[test]
fn what_firmware_and_resctrl_say_fits_too() {
    let mut parts = synthetic("node:12 core:2").unwrap().into_parts();
    parts.access = (0..12)
        .map(|node| AccessClass {
            memory: NodeId(node),
            class: 1,
            initiators: vec![NodeId(0), NodeId(10), NodeId(11)],
            read_latency: Some(Nanoseconds(123_456.0)),
            write_latency: None,
            read_bandwidth: Some(Bandwidth(25.6e9)),
            write_bandwidth: Some(Bandwidth(1e12)),
        })
        .collect();
    parts.allocation = Some(CacheAllocation {
        resource: "L3".to_owned(),
        cbm_mask: u64::MAX,
        min_cbm_bits: 2,
        num_closids: 15,
        shareable_bits: 0x600,
        num_rmids: Some(144),
        bandwidth: None,
    });
    let machine = Topology::new(parts).unwrap();
    holds("all that there is", &machine);
    let narrow = draw(&machine, 60);
    let words = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("memory of node 11 seen from nodes 0,10-11: class 1, read latency 123456 ns"), "{narrow}");
    assert!(words.contains("write bandwidth 931.3 GiB/s") && words.contains("15 classes of service"), "{narrow}");
}
