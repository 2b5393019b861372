use super::*;
use crate::{LlcAssignment, SimMachine};
use isobar_model::{Machine, NodeId, NodeWeight, Seconds};

fn workload(machine: &str, apps: &str) -> Workload {
    let text = format!("machine = \"{machine}\"\n[run]\nruns = 1\ninstructions_factor = 0.2\n{apps}");
    Workload::from_toml("w.toml", &text).unwrap()
}

fn alone(workload: &Workload) -> Vec<f64> {
    workload.apps.iter().map(|app| SimMachine::alone_seconds(workload, app).unwrap().unwrap()).collect()
}

/// Applications dealt in turn to the caches, each on one cache with all ways open.
fn dealt(arranging: &Arranging<'_>, apps: usize) -> Arrangement {
    let rooms = arranging.rooms().len();
    let stand = |index: usize| Stand { llcs: vec![index % rooms], pages: Pages::WithThreads };
    Arrangement { apps: (0..apps).map(stand).collect(), ways: vec![Vec::new(); rooms] }
}

const FOUR: &str = "[[app]]\nprogram = \"milc\"\ncount = 2\n[[app]]\nprogram = \"mcf\"\ncount = 2\n";

/// The simulated machine restarts programs until all have ended, so they run side by side all the
/// time, which is the case that arrangements compute. Tested with pages at home, on another node,
/// and split.
#[test]
fn slowdowns_are_those_of_the_simulated_machine() {
    let workload = workload("nehalem-2x4", FOUR);
    let alone = alone(&workload);
    let mut arranging = Arranging::new(&workload, &alone);
    let mut arrangement = dealt(&arranging, 4);
    arrangement.apps[0].pages = Pages::On(vec![0.0, 1.0]);
    arrangement.apps[2].pages = Pages::On(vec![0.5, 0.5]);
    let given = arranging.slowdowns(&arrangement).unwrap();
    let mut seated = workload.clone();
    for (app, stand) in seated.apps.iter_mut().zip(&arrangement.apps) {
        let llcs = stand.llcs.iter().map(|llc| arranging.rooms()[*llc].id).collect();
        app.seats = Some(LlcAssignment { llcs, keep: true });
    }
    seated.apps[0].memory_node = Some(NodeId(1));
    seated.apps[2].spread = [0, 1].map(|node| NodeWeight { node: NodeId(node), weight: 1 }).to_vec();
    let mut machine = SimMachine::new(&seated, 1);
    machine.wait(Seconds(1e6)).unwrap();
    let report = machine.report();
    for ((given, alone), app) in given.iter().zip(&alone).zip(&report.apps) {
        let simulated = app.mean_seconds.unwrap() / alone;
        assert!((given / simulated - 1.0).abs() < 0.01, "{}: {given} {simulated}", app.name);
    }
}

/// The bound holds for every arrangement, and is not trivial: it accounts for four programs having
/// to share.
#[test]
fn no_arrangement_is_below_the_bound() {
    let workload = workload("nehalem-2x4", FOUR);
    let alone = alone(&workload);
    let mut arranging = Arranging::new(&workload, &alone);
    let bound = arranging.least_mean();
    assert!(bound > 1.01, "{bound}");
    let pages = [Pages::WithThreads, arranging.split(), Pages::On(vec![1.0, 0.0])];
    let mut least = f64::INFINITY;
    for number in 0..16 * pages.len() {
        let mut arrangement = dealt(&arranging, 4);
        for (index, stand) in arrangement.apps.iter_mut().enumerate() {
            stand.llcs = vec![((number / pages.len()) >> index) & 1];
            stand.pages = pages[(number + index) % pages.len()].clone();
        }
        let all = arranging.slowdowns(&arrangement).unwrap();
        let mean = all.iter().sum::<f64>() / 4.0;
        assert!(mean >= bound, "{mean} {bound} {arrangement:?}");
        least = least.min(mean);
    }
    assert!(least < bound * 1.25, "{least} {bound}");
}

#[test]
fn ways_side_by_side_and_memory_that_does_not_fit() {
    let sharing = |apps: &[usize], ways| Sharing { apps: apps.to_vec(), ways };
    let ways = [sharing(&[0, 2], 3), sharing(&[1], 5)];
    assert_eq!([0, 1, 2, 3].map(|app| mask(&ways, app)), [0b111, 0b1111_1000, 0b111, u64::MAX]);
    let workload = workload("nehalem-2x4", "[[app]]\nprogram = \"mcf\"\ncount = 4\n");
    let alone = vec![1.0; 4];
    let arranging = Arranging::new(&workload, &alone);
    let mut all = dealt(&arranging, 4);
    assert_eq!(arranging.overflow(&all), 0.0);
    all.apps.iter_mut().for_each(|stand| stand.pages = Pages::On(vec![1.0, 0.0]));
    // 4 programs of 1600 MiB on one of two nodes, each of 6 GiB.
    let lack = (4.0 * 1600.0 - 6144.0) / 12_288.0;
    assert!((arranging.overflow(&all) - lack).abs() < 1e-4, "{}", arranging.overflow(&all));
}
