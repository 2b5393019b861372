//! A program of sixteen threads on four nodes. Its first thread touched all of its memory, so all
//! of it is on one node.

use crate::with_settings;
use isobar_sim::{RunReport, Workload};

const WORKLOAD: &str = r#"
machine = "barcelona-4x4"

[run]
runs = 1
numa_balancing = false

[[app]]
program = "streamcluster"
threads = 16
spread = [{ node = 0, weight = 1 }]
"#;

fn report(policy: &str, settings: &[(&str, &str)]) -> RunReport {
    let workload = Workload::from_toml("first-touch.toml", WORKLOAD).unwrap();
    with_settings(&workload, policy, settings)
}

/// Twelve of sixteen threads reach the memory over links, and one controller serves all. With a
/// quarter of the memory on each node from the start, the program takes 0.637 of the time. If pages
/// may not be moved, threads go to the memory instead: the four threads on that node end first, and
/// four others take their cores. The kernel moves some threads in the same way, if not all of them.
#[test]
fn the_pages_of_a_program_on_four_nodes_are_spread_over_them() {
    let seconds = |report: &RunReport| report.apps[0].mean_seconds.unwrap();
    let linux = seconds(&report("linux", &[]));
    let with = seconds(&report("isobar", &[]));
    let without = seconds(&report("isobar", &[("isobar.pages", "false")]));
    assert!(with < 0.65 * linux, "{linux} {with}");
    assert!((0.92..0.96).contains(&(without / linux)), "{linux} {without}");
}
