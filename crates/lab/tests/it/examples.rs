//! The workloads that ship under `examples/workloads` can be read and run to their end on the stock
//! scheduler.

use isobar_lab::{CompareSpec, NamedPolicy, compare, table};
use isobar_policy::baseline::linux::Linux;
use isobar_sim::Workload;

#[test]
fn every_example_runs_and_contention_hurts() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        let workload = Workload::from_toml(&path.display().to_string(), &text).unwrap();
        let linux: NamedPolicy<'_> = ("linux".into(), Box::new(|| Box::new(Linux)));
        let got = compare(&CompareSpec { repeat: 3, ..CompareSpec::new(workload) }, &[linux]).unwrap();
        println!("{}\n{}", path.display(), table(&got));
        assert!(got.policies[0].summary.antt > 1.01, "{}", path.display());
    }
}
