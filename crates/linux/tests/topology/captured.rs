//! `topology::read` against eleven captured machines, which lie beside the workspace and are not
//! part of it.
//!
//! This file has its own reader. It unpacks an archive into a map from path to text, takes no
//! shortcut, and shares no code with the reader under test. Its results are compared with the JSON
//! that `isobar topo` prints.

use isobar_linux::topology;
use isobar_linux::tree::Tree;
use isobar_model::wire::machine_to_doc;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const CAPTURES: usize = 11;

/// Paths below `sys/` or `proc/` with their text. A link is listed by its name, with empty text.
type Files = BTreeMap<String, String>;

fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED: {} is not there, so no captured machine was checked", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".tar.bz2"));
    paths.sort();
    assert_eq!(paths.len(), CAPTURES, "captured machines in {}", folder.display());
    paths
}

fn unpack(path: &Path) -> Files {
    let mut archive = tar::Archive::new(bzip2::read::BzDecoder::new(std::fs::File::open(path).unwrap()));
    let mut files = Files::new();
    for member in archive.entries().unwrap() {
        let mut member = member.unwrap();
        let name = member.path().unwrap().to_string_lossy().into_owned();
        let below = name.split_once('/').map_or("", |(_, below)| below).trim_end_matches('/').to_owned();
        let mut text = String::new();
        if below.starts_with("sys/devices/system/") && member.header().entry_type().is_file() {
            member.read_to_string(&mut text).unwrap();
            text = text.replace('\0', "");
        }
        if below.starts_with("sys/devices/system/") {
            files.insert(below, text);
        }
    }
    files
}

/// The numbers of a list such as `0-3,8`.
fn list(text: &str) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    for piece in text.trim().split(',').filter(|piece| !piece.is_empty()) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        numbers.extend(first.parse::<u64>().unwrap()..=last.parse().unwrap());
    }
    numbers
}

/// The bits of a hexadecimal mask, digit by digit from the right.
fn mask(text: &str) -> BTreeSet<u64> {
    let digits = text.trim().replace(',', "");
    let bits = digits.chars().rev().enumerate().flat_map(|(place, digit)| {
        let value = digit.to_digit(16).unwrap();
        (0..4).filter(move |bit| value >> bit & 1 == 1).map(move |bit| place as u64 * 4 + bit)
    });
    bits.collect()
}

/// The numbers N of `folder/prefixN`.
fn numbered(files: &Files, folder: &str, prefix: &str) -> BTreeSet<u64> {
    let start = format!("{folder}/{prefix}");
    let below = files.range(start.clone()..).map_while(|(path, _)| path.strip_prefix(&start));
    below.filter_map(|rest| rest.split('/').next().unwrap().parse().ok()).collect()
}

fn either(files: &Files, list_path: &str, mask_path: &str) -> BTreeSet<u64> {
    match files.get(list_path) {
        Some(text) => list(text),
        None => files.get(mask_path).map(|text| mask(text)).unwrap_or_default(),
    }
}

fn online(files: &Files) -> BTreeSet<u64> {
    let given = files.get("sys/devices/system/cpu/online").map(|text| list(text));
    given.unwrap_or_else(|| numbered(files, "sys/devices/system/cpu", "cpu"))
}

/// A cache as the files describe it.
struct Cache {
    level: u64,
    shared: BTreeSet<u64>,
    bytes: Option<u64>,
    ways: Option<u64>,
}

/// The LLC of a CPU.
fn llc(files: &Files, cpu: u64, online: &BTreeSet<u64>) -> Option<Cache> {
    let caches = format!("sys/devices/system/cpu/cpu{cpu}/cache");
    let mut all = Vec::new();
    for index in numbered(files, &caches, "index") {
        let at = |name: &str| format!("{caches}/index{index}/{name}");
        let holds_data = matches!(files[&at("type")].trim(), "Data" | "Unified");
        let shared = either(files, &at("shared_cpu_list"), &at("shared_cpu_map"));
        let kib = files.get(&at("size")).map(|text| text.trim().strip_suffix('K').unwrap().parse::<u64>().unwrap());
        let ways = files.get(&at("ways_of_associativity")).map(|text| text.trim().parse::<u64>().unwrap());
        let level: u64 = files[&at("level")].trim().parse().unwrap();
        if holds_data {
            let (bytes, ways) = (kib.map(|kib| kib * 1024), ways.filter(|ways| *ways > 0));
            all.push(Cache { level, shared: &shared & online, bytes, ways });
        }
    }
    all.into_iter().max_by_key(|cache| cache.level)
}

fn numbers(value: &Value) -> BTreeSet<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

fn machine(tree: &Tree) -> Value {
    serde_json::to_value(machine_to_doc(&topology::read(tree).unwrap(), None)).unwrap()
}

/// A capture by name, as its files describe it and as `topology::read` reads it.
type Capture = (String, Files, Value);

/// Every capture, unpacked once for all tests.
fn each_capture(check: impl Fn(&str, &Files, &Value)) {
    static CAPTURES: OnceLock<Vec<Capture>> = OnceLock::new();
    let unpacked = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, unpack(&path), machine(&Tree::open(&path).unwrap()))
    };
    let captures = CAPTURES.get_or_init(|| captures().into_iter().map(unpacked).collect());
    captures.iter().for_each(|(name, files, machine)| check(name, files, machine));
}

#[test]
fn node_ids_and_memory_agree() {
    each_capture(|name, files, machine| {
        let ids: BTreeSet<u64> =
            machine["nodes"].as_array().unwrap().iter().map(|n| n["id"].as_u64().unwrap()).collect();
        let folders = numbered(files, "sys/devices/system/node", "node");
        let given = files.get("sys/devices/system/node/online").map(|text| list(text));
        assert_eq!(ids, given.unwrap_or(folders), "{name}");
        for node in machine["nodes"].as_array().unwrap() {
            let meminfo = &files[&format!("sys/devices/system/node/node{}/meminfo", node["id"])];
            let line = meminfo.lines().find(|line| line.contains("MemTotal")).unwrap();
            let kib: u64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
            assert_eq!(node["memory_bytes"], kib * 1024, "{name} node {}", node["id"]);
        }
    });
}

#[test]
fn cpus_and_their_nodes_agree() {
    each_capture(|name, files, machine| {
        let online = online(files);
        let cpus: BTreeSet<u64> =
            machine["cpus"].as_array().unwrap().iter().map(|c| c["id"].as_u64().unwrap()).collect();
        assert_eq!(cpus, online, "{name}");
        for node in machine["nodes"].as_array().unwrap() {
            let at = format!("sys/devices/system/node/node{}", node["id"]);
            let given = &either(files, &format!("{at}/cpulist"), &format!("{at}/cpumap")) & &online;
            assert_eq!(numbers(&node["cpus"]), given, "{name} node {}", node["id"]);
            // Every fake node of the buggy machine lists every CPU, but each CPU is linked from one
            // node only.
            let linked = numbered(files, &at, "cpu");
            let own = machine["cpus"].as_array().unwrap().iter().filter(|cpu| cpu["node"] == node["id"]);
            let own: BTreeSet<u64> = own.map(|cpu| cpu["id"].as_u64().unwrap()).collect();
            let expected = if linked.is_empty() { given } else { &linked & &online };
            assert_eq!(own, expected, "{name} node {}", node["id"]);
        }
    });
}

#[test]
fn llc_sharing_sizes_and_ways_agree() {
    each_capture(|name, files, machine| {
        let online = online(files);
        let llcs = machine["llcs"].as_array().unwrap();
        let mut covered = BTreeSet::new();
        for cpu in machine["cpus"].as_array().unwrap() {
            let id = cpu["id"].as_u64().unwrap();
            let printed = llcs.iter().find(|llc| llc["id"] == cpu["llc"] && !cpu["llc"].is_null());
            let Some(cache) = llc(files, id, &online) else {
                assert!(printed.is_none(), "{name} cpu {id}");
                continue;
            };
            let printed = printed.unwrap_or_else(|| panic!("{name} cpu {id} has an LLC"));
            assert_eq!(printed["level"], cache.level, "{name} cpu {id}");
            assert_eq!(numbers(&printed["cpus"]), cache.shared, "{name} cpu {id}");
            assert_eq!(printed["size_bytes"].as_u64(), cache.bytes, "{name} cpu {id}");
            assert_eq!(printed["ways"].as_u64(), cache.ways, "{name} cpu {id}");
            covered.insert(printed["id"].as_u64().unwrap());
        }
        assert_eq!(covered.len(), llcs.len(), "{name}: every LLC has a CPU");
    });
}

#[test]
fn distances_agree() {
    each_capture(|name, files, machine| {
        let nodes = machine["nodes"].as_array().unwrap();
        let rows = machine["distances"].as_array().unwrap_or_else(|| panic!("{name} has distances"));
        assert_eq!(rows.len(), nodes.len(), "{name}");
        for (node, row) in nodes.iter().zip(rows) {
            let text = &files[&format!("sys/devices/system/node/node{}/distance", node["id"])];
            let given: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
            let printed: Vec<u64> = row.as_array().unwrap().iter().map(|cell| cell.as_u64().unwrap()).collect();
            assert_eq!(printed, given, "{name} node {}", node["id"]);
        }
    });
}

#[test]
fn cores_are_the_sibling_sets() {
    each_capture(|name, files, machine| {
        let online = online(files);
        for cpu in machine["cpus"].as_array().unwrap() {
            let at = format!("sys/devices/system/cpu/cpu{}/topology", cpu["id"]);
            let given = either(files, &format!("{at}/thread_siblings_list"), &format!("{at}/thread_siblings"));
            let first = (&given & &online).first().copied();
            assert_eq!(cpu["core"].as_u64(), first.or(cpu["id"].as_u64()), "{name} cpu {}", cpu["id"]);
        }
    });
}

#[test]
fn firmware_figures_agree() {
    each_capture(|name, files, machine| {
        let classes = machine["access"].as_array().map_or(0, Vec::len);
        let folders = files.keys().filter(|path| path.ends_with("/initiators")).count();
        assert_eq!(classes, folders, "{name}");
        for class in machine["access"].as_array().into_iter().flatten() {
            let node = &class["memory_node"];
            let at = format!("sys/devices/system/node/node{node}/access{}/initiators", class["class"]);
            let mib: f64 = files[&format!("{at}/read_bandwidth")].trim().parse().unwrap();
            assert_eq!(class["read_bandwidth"].as_f64(), Some(mib * 1_048_576.0), "{name} node {node}");
            assert_eq!(numbers(&class["initiators"]), numbered(files, &at, "node"), "{name} node {node}");
            // Latencies are all 0 in this capture, because the firmware leaves them out.
            assert!(class["read_latency_ns"].is_null(), "{name} node {node}");
        }
    });
}

/// Writes files and links only. Owners and times would need a privilege, or time that a test does
/// not have.
fn lay_down(member: &mut tar::Entry<'_, impl Read>, path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if member.header().entry_type().is_file() {
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        std::fs::write(path, bytes).unwrap();
    } else if member.header().entry_type().is_symlink() {
        std::os::unix::fs::symlink(member.link_name().unwrap().unwrap(), path).unwrap();
    }
}

/// Thousands of small files take long to write on some file systems, so only small captures become
/// folders.
const SMALL: u64 = 20_000;

#[test]
fn a_folder_reads_as_its_archive() {
    for path in captures().into_iter().filter(|path| path.metadata().unwrap().len() <= SMALL) {
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let mut archive = tar::Archive::new(bzip2::read::BzDecoder::new(file));
        for member in archive.entries().unwrap() {
            let mut member = member.unwrap();
            let name = member.path().unwrap().to_string_lossy().into_owned();
            if name.contains("/sys/devices/system/") {
                lay_down(&mut member, &folder.path().join(name));
            }
        }
        let top = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let from_folder = topology::read(&Tree::open(&top).unwrap()).unwrap();
        assert_eq!(from_folder, topology::read(&Tree::open(&path).unwrap()).unwrap(), "{}", path.display());
    }
}

#[test]
fn a_captured_archive_cut_in_half_is_refused() {
    let Some(path) = captures().into_iter().next() else { return };
    let bytes = std::fs::read(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let half = folder.path().join("half.tar.bz2");
    std::fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    let said = Tree::open(&half).unwrap_err().to_string();
    assert!(said.contains("half.tar.bz2: the archive is truncated or damaged"), "{said}");
}
