use super::SimMachine;
use crate::workload::Workload;
use isobar_model::{
    Action, ActionOutcome, CpuId, Machine, NodeId, Observation, PageSelection, Pages, Pid, Plan, Seconds, Tid, Wake,
    num,
};

fn workload(text: &str) -> Workload {
    Workload::from_toml("w.toml", text).unwrap()
}

const SHORT: &str = "[run]\nruns = 1\ninstructions_factor = 0.1\n";

fn on_barcelona(apps: &[(&str, &str)]) -> Workload {
    let app = |(program, rest): &(&str, &str)| format!("[[app]]\nprogram = \"{program}\"\n{rest}\n");
    let apps: Vec<_> = apps.iter().map(app).collect();
    workload(&format!("machine = \"barcelona-4x4\"\n{SHORT}{}", apps.concat()))
}

/// Runs the machine to the end.
fn ended(mut machine: SimMachine) -> SimMachine {
    while machine.wait(Seconds(1.0)).unwrap() != Wake::Ended {}
    machine
}

fn seconds(workload: &Workload, seed: u64) -> Vec<f64> {
    let machine = ended(SimMachine::new(workload, seed));
    machine.report().apps.iter().map(|app| app.mean_seconds.unwrap()).collect()
}

fn plan(actions: Vec<Action>) -> Plan {
    Plan { actions, ..Plan::nothing("test") }
}

fn migrate(from: u32, to: u32, pages: u64) -> Action {
    Action::MigratePages {
        pid: Pid(1000),
        from: NodeId(from),
        to: NodeId(to),
        pages: Pages(pages),
        select: PageSelection::AroundSamples,
        for_thread: None,
        reason: "test".into(),
    }
}

#[test]
fn alone_and_local_is_a_slowdown_of_one() {
    for program in ["mcf", "lbm", "povray", "mpi-phases"] {
        let all = on_barcelona(&[(program, "")]);
        let alone = SimMachine::alone_seconds(&all, &all.apps[0]).unwrap().unwrap();
        assert!((seconds(&all, 7)[0] / alone - 1.0).abs() < 1e-6, "{program}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_another_placement() {
    let all = on_barcelona(&[("milc", "count = 4"), ("namd", "count = 4"), ("mcf", "count = 4")]);
    assert_eq!(seconds(&all, 3), seconds(&all, 3));
    let places = |seed| {
        let sample = SimMachine::new(&all, seed).sample().unwrap();
        sample.processes.iter().map(|process| process.threads[0].cpu).collect::<Vec<_>>()
    };
    assert_ne!(places(1), places(2));
}

#[test]
fn linux_gives_every_thread_a_core_of_its_own_while_there_are_enough() {
    let all = on_barcelona(&[("milc", "count = 8"), ("mysqld", "count = 2")]);
    let machine = SimMachine::new(&all, 5);
    assert!(machine.load().values().all(|count| *count == 1));
    let twice = SimMachine::new(&on_barcelona(&[("milc", "count = 20")]), 5);
    assert!(twice.load().values().all(|count| (1..=2).contains(count)));
}

#[test]
fn halving_the_step_changes_results_by_less_than_one_per_cent() {
    let mut all =
        on_barcelona(&[("milc", "count = 3"), ("mcf", ""), ("mpi-phases", "count = 4\nphase_stagger = 0.25")]);
    let coarse = seconds(&all, 3);
    all.run.step_seconds /= 2.0;
    for (a, b) in coarse.iter().zip(seconds(&all, 3)) {
        assert!((a / b - 1.0).abs() < 0.01, "{a} {b}");
    }
}

#[test]
fn two_threads_on_one_core_take_twice_as_long() {
    let alone = seconds(&on_barcelona(&[("gamess", "cpu = 3")]), 1)[0];
    let two = on_barcelona(&[("gamess", "count = 2")]);
    let mut machine = SimMachine::new(&two, 1);
    let both = |cpu| plan([1000, 1001].map(|id| to(id, cpu)).to_vec());
    machine.apply(&both(3)).unwrap();
    let shared = ended(machine).report().apps[0].mean_seconds.unwrap();
    // Half a core each, a few microseconds for every switch, and half of the cache each.
    assert!(shared > 2.0 * alone && shared < 2.03 * alone, "{shared} {alone}");
}

fn to(id: u32, cpu: u32) -> Action {
    Action::MoveThread { pid: Pid(id), tid: Tid(id), cpu: CpuId(cpu), cpus: None, reason: "test".into() }
}

#[test]
fn remote_memory_slows_down_and_moving_the_pages_repairs_it() {
    let all = on_barcelona(&[("milc", "cpu = 15\nmemory_node = 0")]);
    let local = SimMachine::alone_seconds(&all, &all.apps[0]).unwrap().unwrap();
    let remote = seconds(&all, 1)[0];
    assert!(remote / local > 1.1, "{remote} {local}");
    let mut machine = SimMachine::new(&all, 1);
    let outcome = machine.apply(&plan(vec![migrate(0, 3, 1 << 30)])).unwrap();
    assert!(matches!(outcome.actions[0], ActionOutcome::Queued { pages: Pages(174_080), .. }), "{outcome:?}");
    let report = ended(machine).report();
    let repaired = report.apps[0].mean_seconds.unwrap();
    assert!(repaired < remote && repaired > local, "{local} {repaired} {remote}");
    assert_eq!((report.apps[0].pages_moved, report.apps[0].memory_migrations), (174_080, 1));
}

fn ways(llc: u32, cluster: &str, way_mask: u64, threads: &[u32]) -> Action {
    let threads = threads.iter().map(|id| Tid(*id)).collect();
    Action::SetWays {
        llc: isobar_model::LlcId(llc),
        cluster: cluster.into(),
        way_mask,
        memory_bandwidth_percent: None,
        threads,
        reason: "test".into(),
    }
}

fn share(percent: u32, threads: &[u32]) -> Action {
    let mut action = ways(0, "a", 0xffff, threads);
    let Action::SetWays { memory_bandwidth_percent, .. } = &mut action else { panic!() };
    *memory_bandwidth_percent = Some(percent);
    action
}

#[test]
fn a_share_of_the_bandwidth_is_refused_and_not_taken_in_silence() {
    let mut machine = SimMachine::new(&on_barcelona(&[("bzip2", "cpu = 0")]), 1);
    let outcome = machine.apply(&plan(vec![share(50, &[1000])])).unwrap();
    let ActionOutcome::Refused { why, .. } = &outcome.actions[0] else { panic!("{outcome:?}") };
    assert!(why.contains("`bandwidth_shares`"), "{why}");
}

/// A stream alone on its node requests a share of 41 % and gets the next step, 50 %: a twelfth of
/// the latency more for each line, less the reduction of its own queue. After `restore` it has
/// everything again.
#[test]
fn a_share_of_the_bandwidth_delays_each_line() {
    let machine_text = include_str!("../../../../machines/barcelona-4x4.toml");
    let machine_text = format!("bandwidth_shares = {{ least_percent = 10, step_percent = 10 }}\n{machine_text}");
    let app = "[[app]]\nprogram = \"lbm\"\ncpu = 0\n";
    let text = format!("machine = \"m.toml\"\n[run]\nnuma_balancing = false\n{app}");
    let all = Workload::from_toml_with("w.toml", &text, &|_| Ok(machine_text.clone())).unwrap();
    let mut machine = SimMachine::new(&all, 1);
    let shares = machine.workload.machine.topology.allocation().unwrap().bandwidth.unwrap();
    assert_eq!([1, 41, 95].map(|percent| shares.rounded(percent)), [10, 50, 100]);
    let seconds_a_miss = |machine: &mut SimMachine| {
        machine.wait(Seconds(1.0)).unwrap();
        let before = machine.sample().unwrap();
        machine.wait(Seconds(1.0)).unwrap();
        let seen = Observation::between(&before, &machine.sample().unwrap());
        1.0 / num::float(seen.processes[0].threads[0].llc_misses.unwrap())
    };
    let free = seconds_a_miss(&mut machine);
    assert_eq!(machine.apply(&plan(vec![share(41, &[1000])])).unwrap().actions, [ActionOutcome::Done]);
    let limited = seconds_a_miss(&mut machine);
    let idle = machine.workload.machine.memory.latency()[0][0];
    let lines = 1.0 + machine.workload.apps[0].program.prefetch;
    let part = (limited - free) / (lines * idle / 12.0);
    assert!(part > 0.5 && part < 1.0, "{free} {limited} {idle}");
    machine.restore().unwrap();
    assert!((seconds_a_miss(&mut machine) / free - 1.0).abs() < 1e-3);
}

#[test]
fn ways_keep_a_neighbour_out_until_they_are_put_back() {
    let all = on_barcelona(&[("bzip2", "cpu = 0"), ("lbm", "cpu = 1")]);
    let rate = |machine: &mut SimMachine| {
        let before = machine.sample().unwrap();
        machine.wait(Seconds(0.5)).unwrap();
        Observation::between(&before, &machine.sample().unwrap()).processes[0].threads[0].mpki().unwrap().0
    };
    let mut machine = SimMachine::new(&all, 1);
    assert!(machine.sample().unwrap().capabilities.missing.is_empty());
    assert_eq!(machine.workload.machine.topology.allocation().unwrap().cbm_mask, 0xffff_ffff);
    let shared = rate(&mut machine);
    let clusters = vec![ways(0, "soft", 0xffff_fffc, &[1000]), ways(0, "streaming", 0x3, &[1001])];
    let outcome = machine.apply(&plan(clusters)).unwrap();
    assert_eq!(outcome.actions, [ActionOutcome::Done, ActionOutcome::Done]);
    let apart = rate(&mut machine);
    assert!(apart < 0.9 * shared, "{apart} {shared}");
    machine.restore().unwrap();
    assert!((rate(&mut machine) / shared - 1.0).abs() < 1e-3);
}

#[test]
fn what_resctrl_would_refuse_is_refused_in_words() {
    let mut machine = SimMachine::new(&on_barcelona(&[("milc", "")]), 1);
    let wrong =
        [ways(9, "a", 1, &[1000]), ways(0, "a", 0, &[1000]), ways(0, "a", 0b101, &[1000]), ways(0, "a", 1, &[7])];
    let outcomes = machine.apply(&plan(wrong.to_vec())).unwrap().actions;
    let why = |number: usize| match &outcomes[number] {
        ActionOutcome::Refused { why, .. } => why.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(why(0), "llc 9 is not on this machine");
    assert_eq!(why(1), "llc 0, cluster \"a\": the way mask is empty; set at least one bit");
    assert!(why(2).ends_with("has gaps; this cache accepts neighbouring bits only"));
    assert_eq!(outcomes[3], ActionOutcome::Vanished);
}

/// A workload on two nodes of four cores, of two hardware threads each that together do 1.3 times
/// what one does.
fn on_shared_cores(apps: &[(&str, &str)]) -> Workload {
    let machine = include_str!("../../../../machines/nehalem-2x4.toml");
    let machine = format!("smt = {{ threads = 2, throughput = 1.3 }}\n{machine}");
    let machine = std::sync::Arc::new(crate::MachineSpec::from_toml("m.toml", &machine).unwrap());
    Workload { machine, ..on_barcelona(apps) }
}

/// Two threads of povray, which hardly misses, on one core: together 1.3 times what one does alone.
#[test]
fn siblings_share_a_core() {
    let all = on_shared_cores(&[("povray", "count = 2")]);
    let on = |cpus: [u32; 2]| {
        let mut machine = SimMachine::new(&all, 1);
        machine.apply(&plan(vec![to(1000, cpus[0]), to(1001, cpus[1])])).unwrap();
        ended(machine).report().apps[0].mean_seconds.unwrap()
    };
    let (apart, siblings, turns) = (on([0, 1]), on([0, 8]), on([0, 0]));
    assert!((siblings / apart / (2.0 / 1.3) - 1.0).abs() < 0.01, "{siblings} {apart}");
    assert!((turns / apart / 2.0 - 1.0).abs() < 0.01 && turns > 2.0 * apart, "{turns} {apart}");
}

/// Four threads on two cores of a node whose other cores are idle: two of them are moved apart,
/// unless they are bound.
#[test]
fn threads_that_share_a_core_are_parted_while_a_core_is_idle() {
    let all = on_shared_cores(&[("povray", "count = 4")]);
    let mut machine = SimMachine::new(&all, 1);
    let cores = |machine: &SimMachine| {
        let topology = &machine.workload.machine.topology;
        let core = |process: &super::Process| topology.cpu(process.threads[0].cpu).unwrap().core;
        machine.processes.iter().map(core).collect::<std::collections::BTreeSet<_>>().len()
    };
    machine.apply(&plan((0..4).map(|at| to(1000 + at, [0, 8, 1, 9][at as usize])).collect())).unwrap();
    assert_eq!(cores(&machine), 2);
    machine.restore().unwrap();
    assert_eq!(cores(&machine), 4);
}

#[test]
fn what_is_not_there_vanished_or_is_refused() {
    let mut machine = SimMachine::new(&on_barcelona(&[("milc", "")]), 1);
    let outcomes = machine.apply(&plan(vec![to(77, 1), to(1000, 99), migrate(0, 9, 1)])).unwrap().actions;
    assert_eq!(outcomes[0], ActionOutcome::Vanished);
    assert!(matches!(outcomes[1], ActionOutcome::Refused { .. }));
    assert!(matches!(outcomes[2], ActionOutcome::Refused { .. }));
}

#[test]
fn a_full_node_takes_no_more_pages() {
    // A node of the synthetic machine has 4 GiB. Two programs of 1.6 GiB fit, and 0.8 GiB of the
    // third.
    let apps = "[[app]]\nprogram = \"mcf\"\nmemory_node = 1\ncount = 2\n[[app]]\nprogram = \"mcf\"\nmemory_node = 0\n";
    let mut machine = SimMachine::new(&workload(&format!("machine = \"node:2 core:4\"\n{SHORT}{apps}")), 1);
    let one = |pid| {
        let mut action = migrate(0, 1, 409_600);
        if let Action::MigratePages { pid: of, .. } = &mut action {
            *of = Pid(pid);
        }
        action
    };
    let outcome = machine.apply(&plan(vec![one(1002)])).unwrap().actions[0].clone();
    let ActionOutcome::Queued { pages, stayed, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(pages.0, 4 * 262_144 - 2 * 409_600);
    assert_eq!(stayed, [("no free memory on the target node".to_owned(), Pages(409_600 - pages.0))]);
    let outcome = machine.apply(&plan(vec![one(1002)])).unwrap();
    assert_eq!(outcome.effective(), 0, "what is under way has its place already: {outcome:?}");
}

#[test]
fn sensors_see_the_solo_miss_rate() {
    let all = on_barcelona(&[("milc", "cpu = 0")]);
    let mut machine = SimMachine::new(&all, 1);
    let before = machine.sample().unwrap();
    machine.wait(Seconds(1.0)).unwrap();
    let seen = Observation::between(&before, &machine.sample().unwrap());
    let thread = &seen.processes[0].threads[0];
    // milc holds all 2 MiB and 0.5 of its core: 16 + 3.55 * 4.5 / (4.5 + 2.5) = 18.282 misses per
    // 1000 instructions. Barcelona also counts prefetched lines, 0.87 per miss: 34.188.
    assert!((thread.mpki().unwrap().0 - 34.188).abs() < 0.01, "{:?}", thread.mpki());
    // With no space it would miss at each lookup: 16 + 3.55, of which it finds 1.268.
    let found = 1.0 - num::float(thread.llc_misses.unwrap()) / num::float(thread.llc_references.unwrap());
    assert!((found - 1.268 / 19.55).abs() < 1e-4, "{found}");
    assert!((thread.cpu_time.unwrap().0 - 1.0).abs() < 1e-6);
    let bytes = thread.llc_misses.unwrap() * 64;
    assert!((thread.bandwidth.unwrap().0 / (num::float(bytes) * 1.35) - 1.0).abs() < 1e-3);
}

#[test]
fn who_is_early_restarts_as_a_new_process() {
    let all = on_barcelona(&[("mpi-phases", ""), ("mcf", "")]);
    let machine = ended(SimMachine::new(&all, 1));
    let report = machine.report();
    // 3.8 s and 6.1 s: the first has begun its second run when the other ends.
    assert_eq!((report.apps[0].completed, report.apps[1].completed), (1, 1), "{report:?}");
    assert!(machine.processes[0].start > 3.0 && machine.processes[0].progress() > 0.1);
    assert!(machine.processes[0].pid > Pid(1001));
}

/// Actions after the end of the workload have no effect.
#[test]
fn a_workload_that_has_ended_is_left_alone() {
    let mut machine = ended(SimMachine::new(&on_barcelona(&[("milc", "cpu = 0")]), 1));
    let report = machine.report();
    let outcome = machine.apply(&plan(vec![to(1000, 5), migrate(0, 3, 1000)])).unwrap();
    assert!(outcome.actions.iter().all(|one| matches!(one, ActionOutcome::LeftAlone { .. })), "{outcome:?}");
    assert_eq!(machine.report(), report);
}

/// The model has no answer for a program of no speed: the run ends with one line, and nothing is
/// reported for the program.
#[test]
fn a_run_that_cannot_be_solved_ends_with_an_error() {
    let mut all = on_barcelona(&[("milc", "cpu = 0")]);
    std::sync::Arc::make_mut(&mut all.apps[0].program).base_cpi = f64::NAN;
    let error = SimMachine::new(&all, 1).wait(Seconds(1.0)).unwrap_err().to_string();
    assert!(error.starts_with("at 0.000 s: thread 0 of the question has a number that"), "{error}");
    assert!(!error.contains('\n') && SimMachine::alone_seconds(&all, &all.apps[0]).is_err());
}
