//! Programs whose owners pinned them to the CPUs of one node: no policy moves their threads. If
//! they wait for the memory of that node, `isobar` moves pages of some of them to the other node.

use crate::with_settings;
use isobar_sim::{RunReport, Workload};
use std::path::Path;

/// 36 virtual machines with one virtual CPU each, on one of two sockets.
fn workload(pinned: bool) -> Workload {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads/camm-npb-is.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let mut workload = Workload::from_toml("camm-npb-is.toml", &text).unwrap();
    workload.apps.iter_mut().for_each(|app| app.pinned = pinned);
    workload
}

fn mean(report: &RunReport) -> f64 {
    let seconds: Vec<f64> = report.apps.iter().map(|app| app.mean_seconds.unwrap()).collect();
    seconds.iter().sum::<f64>() / isobar_model::num::float_len(seconds.len())
}

#[test]
fn their_threads_stay_and_pages_of_some_go_where_memory_is_idle() {
    let [linux, isobar] = ["linux", "isobar"].map(|policy| with_settings(&workload(true), policy, &[]));
    let moved = |of: fn(&isobar_sim::AppReport) -> u64| isobar.apps.iter().map(of).sum::<u64>();
    assert_eq!(moved(|app| app.thread_migrations), 0);
    assert!(moved(|app| app.pages_moved) > 0);
    let gone = isobar.apps.iter().filter(|app| app.memory_migrations > 0).count();
    assert!((5..=25).contains(&gone), "pages of {gone} of 36 went");
    assert!(mean(&isobar) < 0.85 * mean(&linux), "{} and {}", mean(&isobar), mean(&linux));
    let still = with_settings(&workload(true), "isobar", &[("isobar.pages", "false")]);
    assert!((mean(&still) / mean(&linux) - 1.0).abs() < 0.01, "{} and {}", mean(&still), mean(&linux));
}

/// If they are not pinned, the kernel spreads them over both sockets as they start.
#[test]
fn those_that_are_not_pinned_are_spread_by_the_kernel() {
    let [spread, kept] = [false, true].map(|pinned| mean(&with_settings(&workload(pinned), "linux", &[])));
    assert!(spread < 0.7 * kept, "{spread} and {kept}");
}
