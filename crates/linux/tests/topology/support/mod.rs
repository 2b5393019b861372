//! Captured machines made by the tests: sysfs trees as text, written to a folder or into an
//! archive.
#![allow(dead_code, missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// A tree under construction.
#[derive(Clone, Default)]
pub struct Capture {
    files: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
}

/// One cache folder of one CPU.
#[derive(Clone, Copy)]
pub struct Cache<'a> {
    pub index: u32,
    pub level: u32,
    pub kind: &'a str,
    pub size: &'a str,
    pub ways: u32,
    pub shared: &'a str,
    pub id: Option<u32>,
}

/// A unified L3 with 16 ways and 8 MiB at `index3`.
pub const fn l3<'a>(shared: &'a str, id: Option<u32>) -> Cache<'a> {
    Cache { index: 3, level: 3, kind: "Unified", size: "8192K", ways: 16, shared, id }
}

/// A unified L2 with 8 ways and 1 MiB at `index2`.
pub const fn l2<'a>(shared: &'a str, id: Option<u32>) -> Cache<'a> {
    Cache { index: 2, level: 2, kind: "Unified", size: "1024K", ways: 8, shared, id }
}

impl Capture {
    pub fn file(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }

    pub fn link(mut self, path: impl Into<String>, target: impl Into<String>) -> Self {
        self.links.insert(path.into(), target.into());
        self
    }

    pub fn online(self, cpus: &str) -> Self {
        self.file(format!("{CPU}/online"), format!("{cpus}\n"))
    }

    /// A CPU with its SMT siblings, itself included.
    pub fn cpu(self, cpu: u32, siblings: &str) -> Self {
        self.file(format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"), format!("{siblings}\n"))
    }

    pub fn cache(self, cpu: u32, cache: Cache<'_>) -> Self {
        let at = format!("{CPU}/cpu{cpu}/cache/index{}", cache.index);
        let tree = self
            .file(format!("{at}/level"), format!("{}\n", cache.level))
            .file(format!("{at}/type"), format!("{}\n", cache.kind))
            .file(format!("{at}/size"), format!("{}\n", cache.size))
            .file(format!("{at}/ways_of_associativity"), format!("{}\n", cache.ways))
            .file(format!("{at}/shared_cpu_list"), format!("{}\n", cache.shared));
        match cache.id {
            Some(id) => tree.file(format!("{at}/id"), format!("{id}\n")),
            None => tree,
        }
    }

    pub fn nodes_online(self, nodes: &str) -> Self {
        self.file(format!("{NODE}/online"), format!("{nodes}\n"))
    }

    pub fn node(self, node: u32, cpus: &str, kib: u64, distances: &str) -> Self {
        let at = format!("{NODE}/node{node}");
        self.file(format!("{at}/cpulist"), format!("{cpus}\n"))
            .file(format!("{at}/meminfo"), format!("Node {node} MemTotal: {kib:>14} kB\nNode {node} MemFree: 1 kB\n"))
            .file(format!("{at}/distance"), format!("{distances}\n"))
    }

    pub fn without(mut self, path: &str) -> Self {
        self.files.remove(path).expect("a file to leave out");
        self
    }

    pub fn write(&self, folder: &Path) {
        for (path, text) in &self.files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for (path, target) in &self.links {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, path).unwrap();
        }
    }

    /// A tar archive with every member below `top`, which may be empty.
    pub fn tar(&self, top: &str) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, text) in &self.files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, format!("{top}{path}"), text.as_bytes()).unwrap();
        }
        for (path, target) in &self.links {
            let mut header = tar::Header::new_ustar();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            tar.append_link(&mut header, format!("{top}{path}"), target).unwrap();
        }
        tar.into_inner().unwrap()
    }

    pub fn tar_gz(&self, top: &str) -> Vec<u8> {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(&self.tar(top)).unwrap();
        gz.finish().unwrap()
    }

    pub fn tar_bz2(&self, top: &str) -> Vec<u8> {
        let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        bz.write_all(&self.tar(top)).unwrap();
        bz.finish().unwrap()
    }
}

/// A server of 256 CPUs: two sockets of four nodes' worth of cores, 16 LLCs of 8 cores with two
/// threads each, every cache file that a recent kernel shows, SMT siblings 128 apart.
pub fn server_256() -> Capture {
    let mut tree = Capture::default().online("0-255").nodes_online("0-7");
    for node in 0..8u32 {
        let row: Vec<_> = (0..8u32).map(|to| distance(node, to).to_string()).collect();
        let first = node * 16;
        let cpus = format!("{}-{},{}-{}", first, first + 15, first + 128, first + 143);
        tree = tree.node(node, &cpus, 64 << 20, &row.join(" "));
    }
    for cpu in 0..256u32 {
        let core = cpu % 128;
        let siblings = format!("{},{}", core, core + 128);
        let first = core / 8 * 8;
        let shared = format!("{}-{},{}-{}", first, first + 7, first + 128, first + 135);
        let l1 = |index, kind| Cache { index, level: 1, kind, size: "32K", ways: 8, shared: &siblings, id: Some(core) };
        tree = tree.cpu(cpu, &siblings).cache(cpu, l1(0, "Data")).cache(cpu, l1(1, "Instruction"));
        tree = tree.cache(cpu, l2(&siblings, Some(core))).cache(cpu, l3(&shared, Some(core / 8)));
        tree = surroundings(tree, cpu);
    }
    tree
}

const fn distance(from: u32, to: u32) -> u32 {
    if from == to {
        10
    } else if from / 4 == to / 4 {
        12
    } else {
        32
    }
}

/// Files that a real capture contains and that a topology reader has to ignore.
fn surroundings(mut tree: Capture, cpu: u32) -> Capture {
    for index in 0..4 {
        for name in ["coherency_line_size", "number_of_sets", "physical_line_partition", "shared_cpu_map"] {
            tree = tree.file(format!("{CPU}/cpu{cpu}/cache/index{index}/{name}"), "64\n");
        }
    }
    for name in ["core_id", "physical_package_id", "die_id", "cluster_id", "package_cpus_list", "die_cpus_list"] {
        tree = tree.file(format!("{CPU}/cpu{cpu}/topology/{name}"), "0\n");
    }
    tree
}
