//! Sets up what tests of several modules need: trees of small files, CPU sets, samples, clusters.

use crate::resctrl::clusters::{Cluster, Clusters, Key};
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{CpuSet, LlcId, Pid, ProcessSample, Sample, Seconds, Tid};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Writes files, with the folders above them.
pub fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A folder of files, written by [`write`].
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    folder
}

/// The CPUs of a list in the kernel's format.
pub fn cpus(list: &str) -> CpuSet {
    list.parse().unwrap()
}

/// A sample of a machine such as `node:1 core:2`.
pub fn sample(machine: &str, seconds: f64, processes: Vec<ProcessSample>) -> Sample {
    Sample::bare(Seconds(seconds), Arc::new(synthetic(machine).unwrap()), processes)
}

/// Clusters by LLC, name and threads.
pub fn clusters<'a>(list: impl IntoIterator<Item = (u32, &'a str, Vec<u32>)>) -> Clusters {
    let mut clusters = Clusters::default();
    for (llc, name, tids) in list {
        let threads = tids.into_iter().map(|tid| (Tid(tid), (Pid(tid), 1))).collect();
        clusters.set(Key::new(LlcId(llc), name), Cluster { way_mask: 1, percent: None, threads });
    }
    clusters
}
