//! Measures reading a captured server of 256 CPUs. The goal is 20 ms.

#![allow(clippy::expect_used)]

#[path = "../tests/topology/support/mod.rs"]
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use isobar_linux::topology;
use isobar_linux::tree::Tree;
use std::path::Path;

fn read(path: &Path) -> usize {
    let machine = topology::read(&Tree::open(path).expect("a tree")).expect("a machine");
    machine.cpus().len()
}

fn captured(criterion: &mut Criterion) {
    let place = tempfile::tempdir().expect("a temporary folder");
    let capture = support::server_256();
    let folder = place.path().join("folder");
    capture.write(&folder);
    let archives = [("tar", capture.tar("")), ("tar.gz", capture.tar_gz("")), ("tar.bz2", capture.tar_bz2(""))];
    let mut group = criterion.benchmark_group("topology/256-cpus");
    group.sample_size(20);
    assert_eq!(read(&folder), 256);
    group.bench_function("folder", |bencher| bencher.iter(|| read(&folder)));
    for (kind, bytes) in archives {
        let path = place.path().join(format!("capture.{kind}"));
        std::fs::write(&path, bytes).expect("an archive");
        assert_eq!(read(&path), 256);
        group.bench_function(kind, |bencher| bencher.iter(|| read(&path)));
    }
    group.finish();
}

criterion_group!(benches, captured);
criterion_main!(benches);
