use super::super::SimMachine;
use super::extra_misses;
use crate::workload::{Costs, Workload};
use isobar_model::{Action, CpuId, Machine, NodeId, PageSelection, Pages, Pid, Plan, Seconds, Tid, Wake};

fn program(name: &str) -> std::sync::Arc<crate::Program> {
    crate::program::shipped().unwrap().find("", "", name).unwrap()
}

#[test]
fn a_stream_has_no_cold_cache_and_no_line_costs_more_than_a_miss() {
    let mib = 1_048_576.0;
    let text = |reuse: f64| {
        format!(
            "machine = \"node:2\"\n[[program]]\nname = \"a\"\ninstructions_billion = 1\nbase_cpi = 1\nmlp = \
             1\nwrite_back = 0\n\
             footprint_mib = 9\nmpki = {{ streaming = 5, reuse = {reuse}, half_mib = 1 }}\n[[app]]\nprogram = \"a\""
        )
    };
    let extra = |reuse| {
        let workload = Workload::from_toml("w.toml", &text(reuse)).unwrap();
        extra_misses(&workload.apps[0].program.mpki, mib)
    };
    assert!(extra(0.0).abs() < 1e-9);
    let lines = mib / 64.0;
    let reused = extra(40.0);
    assert!(reused > 0.1 * lines && reused < lines, "{reused} of {lines}");
    assert!(extra_misses(&program("mcf").mpki, 0.0).abs() < 1e-9);
}

/// Seconds of one run of `omnetpp`, which either stays or changes node with its pages in every
/// epoch.
fn run(flips: bool, costs: &Costs) -> f64 {
    let text = "machine = \"barcelona-4x4\"\n[run]\nruns = 1\ninstructions_factor = 0.3\n[[app]]\nprogram \
                = \"omnetpp\"\ncpu = 0";
    let mut workload = Workload::from_toml("w.toml", text).unwrap();
    workload.run.costs = *costs;
    let mut machine = SimMachine::new(&workload, 1);
    let mut here = 0;
    while machine.wait(Seconds(0.5)).unwrap() != Wake::Ended {
        if flips {
            let from = here;
            here = 1 - here;
            machine.apply(&flip(from, here)).unwrap();
        }
    }
    machine.report().apps[0].mean_seconds.unwrap()
}

fn flip(from: u32, to: u32) -> Plan {
    let cpu = CpuId(4 * to);
    let (pid, reason) = (Pid(1000), "to and fro".to_owned());
    let thread = Action::MoveThread { pid, tid: Tid(1000), cpu, cpus: None, reason: reason.clone() };
    let (from, to, pages) = (NodeId(from), NodeId(to), Pages(1 << 20));
    let select = PageSelection::ResidentSet;
    let pages = Action::MigratePages { pid, from, to, pages, select, for_thread: None, reason };
    Plan { actions: vec![thread, pages], ..Plan::nothing("flip") }
}

/// 150 MiB move to and fro twice a second on an idle machine. Nothing can be gained there, so every
/// loss is the cost of acting: 11 % in all. Nearly all of it is page copies, because shootdowns (2
/// %) also need them; the cold cache of 2 MB costs 0.1 %.
#[test]
fn to_and_fro_costs_and_every_cost_has_its_share() {
    let loss = |costs: &Costs| run(true, costs) / run(false, costs) - 1.0;
    let all = Costs::default();
    let none = Costs { page_copies: false, shootdowns: false, cold_caches: false };
    let total = loss(&all);
    let without = [
        ("page copies", loss(&Costs { page_copies: false, ..all })),
        ("shootdowns", loss(&Costs { shootdowns: false, ..all })),
        ("cold caches", loss(&Costs { cold_caches: false, ..all })),
    ];
    for (name, loss) in without {
        assert!(loss < total - 1e-5, "{name} has no share: {loss} of {total}");
    }
    assert!(total > 0.03, "{total}");
    assert!(loss(&none).abs() < 1e-6, "{}", loss(&none));
}
