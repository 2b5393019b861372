//! Tests the policies that divide ways, on the simulated machine: properties of every mask that
//! they set, how much of the time they sample, how soon they notice a change of class, and how much
//! runs differ.

#![allow(clippy::unwrap_used, clippy::panic)]

use isobar_lab::run_policy;
use isobar_model::{Action, ActionOutcome, LlcId, Machine, Observation, Plan, Policy, Tid, Wake};
use isobar_policy::Settings;
use isobar_policy::registry::build;
use isobar_sim::{SimMachine, Workload};
use std::collections::{BTreeMap, BTreeSet};

const POLICIES: [&str; 3] = ["lfoc+", "divide-content", "dino+lfoc+"];

fn workload(run: &str, apps: &[(&str, u32, u32)], more: &str) -> Workload {
    let app = |(program, count, threads): &(&str, u32, u32)| {
        format!("[[app]]\nprogram = \"{program}\"\ncount = {count}\nthreads = {threads}\n")
    };
    let apps: String = apps.iter().map(app).collect();
    let text = format!("machine = \"skylake-2x20\"\n[run]\nnuma_balancing = true\n{run}\n{apps}{more}");
    Workload::from_toml("w.toml", &text).unwrap()
}

/// Forty threads of 22 programs of all classes.
const MIXED: [(&str, u32, u32); 12] = [
    ("soplex", 1, 1),
    ("omnetpp", 1, 1),
    ("xalancbmk17", 1, 1),
    ("mcf17", 1, 1),
    ("astar", 1, 1),
    ("lbm17", 3, 1),
    ("milc", 2, 1),
    ("fotonik3d17", 1, 1),
    ("gamess", 3, 1),
    ("namd", 4, 1),
    ("mg-omp", 1, 10),
    ("ep-omp", 1, 10),
];
/// Two more programs that hardly miss, so that there are forty threads.
const FILL: (&str, u32, u32) = ("povray", 2, 1);

fn mixed(run: &str) -> Workload {
    let mut apps = MIXED.to_vec();
    apps.push(FILL);
    workload(run, &apps, "")
}

/// Runs a policy for some epochs; `each` sees every observation, every plan and its outcome.
fn drive(
    workload: &Workload,
    seed: u64,
    policy: &mut dyn Policy,
    epochs: u32,
    mut each: impl FnMut(u32, &Observation, &Plan),
) {
    let mut machine = SimMachine::new(workload, seed);
    let mut before = machine.sample().unwrap();
    for epoch in 0..epochs {
        assert_eq!(machine.wait(machine.epoch()).unwrap(), Wake::Elapsed, "the workload ends too soon for this test");
        let sample = machine.sample().unwrap();
        let seen = Observation::between(&before, &sample);
        let plan = policy.decide(&seen);
        assert_eq!(plan.validate(&seen), Ok(()));
        let outcome = machine.apply(&plan).unwrap();
        for (action, became) in plan.actions.iter().zip(&outcome.actions) {
            assert!(!matches!(became, ActionOutcome::Refused { .. }), "{action:?}: {became:?}");
        }
        each(epoch, &seen, &plan);
        before = sample;
    }
}

/// Clusters as the machine holds them.
#[derive(Default)]
struct Clusters(BTreeMap<(LlcId, String), (u64, BTreeSet<Tid>)>);

impl Clusters {
    fn take(&mut self, seen: &Observation, plan: &Plan) {
        let alive: BTreeSet<Tid> = seen.threads().map(|(_, thread)| thread.tid).collect();
        self.0.values_mut().for_each(|(_, members)| members.retain(|tid| alive.contains(tid)));
        for action in &plan.actions {
            if let Action::SetWays { llc, cluster, way_mask, threads, .. } = action {
                self.0.values_mut().for_each(|(_, members)| members.retain(|tid| !threads.contains(tid)));
                self.0.insert((*llc, cluster.clone()), (*way_mask, threads.iter().copied().collect()));
            }
        }
        self.0.retain(|_, (_, members)| !members.is_empty());
    }

    fn masks(&self, llc: LlcId) -> Vec<u64> {
        self.0.iter().filter(|((of, _), _)| *of == llc).map(|(_, (mask, _))| *mask).collect()
    }

    fn is_sampling(&self, llc: LlcId) -> bool {
        self.0.contains_key(&(llc, "sampling".to_owned()))
    }

    fn ways_of(&self, tid: Tid) -> Option<(LlcId, u64)> {
        self.0.iter().find(|(_, (_, members))| members.contains(&tid)).map(|((llc, _), (mask, _))| (*llc, *mask))
    }
}

/// The LLCs from or to which a plan moves threads.
fn in_motion(seen: &Observation, plan: &Plan) -> BTreeSet<LlcId> {
    let mut llcs = BTreeSet::new();
    for action in &plan.actions {
        if let Action::MoveThread { tid, cpu, .. } = action {
            let (_, thread) = seen.threads().find(|(_, thread)| thread.tid == *tid).unwrap();
            llcs.extend([thread.cpu.unwrap(), *cpu].iter().filter_map(|cpu| seen.machine.llc_of(*cpu)));
        }
    }
    llcs
}

#[test]
fn masks_are_contiguous_cover_the_cache_and_nobody_is_without_ways() {
    for name in POLICIES {
        for seed in [1, 2] {
            let mut policy = build(name, &Settings::default()).unwrap();
            let (mut clusters, mut moving, mut parted) = (Clusters::default(), BTreeSet::new(), 0);
            drive(&mixed("runs = 3"), seed, policy.as_mut(), 120, |epoch, seen, plan| {
                clusters.take(seen, plan);
                // Threads on the way, and runs that ended within this epoch, leave an LLC unchanged
                // for a moment.
                moving = if plan.actions.is_empty() { BTreeSet::new() } else { in_motion(seen, plan) };
                for llc in seen.machine.llcs().iter().filter(|llc| !moving.contains(&llc.id)) {
                    let masks = clusters.masks(llc.id);
                    if masks.is_empty() {
                        continue;
                    }
                    parted += 1;
                    let low = |mask: &u64| mask >> mask.trailing_zeros();
                    assert!(masks.iter().all(|mask| low(mask) & (low(mask) + 1) == 0), "{name} {epoch}: {masks:x?}");
                    assert_eq!(masks.iter().fold(0, |sum, mask| sum | mask), 0x7ff, "{name} {epoch}: {masks:x?}");
                    assert_eq!(
                        masks.iter().map(|mask| mask.count_ones()).sum::<u32>(),
                        11,
                        "{name} {epoch}: {masks:x?}"
                    );
                    assert!(masks.len() <= 15, "{name} {epoch}");
                    let here =
                        seen.threads().filter(|(_, thread)| seen.machine.llc_of(thread.cpu.unwrap()) == Some(llc.id));
                    for (process, thread) in here {
                        let own = clusters.ways_of(thread.tid).map(|(of, _)| of);
                        assert_eq!(own, Some(llc.id), "{name} {epoch}: {} {}", process.name, thread.tid);
                    }
                }
            });
            assert!(parted > 100, "{name}: {parted} LLC epochs were partitioned");
        }
    }
}

/// Programs that run indefinitely: after the last class is known, there is nothing left to sample.
#[test]
fn a_steady_workload_is_hardly_sampled_after_warm_up() {
    for name in ["lfoc+", "divide-content"] {
        let mut policy = build(name, &Settings::default()).unwrap();
        let mut clusters = Clusters::default();
        let mut sampled: Vec<usize> = Vec::new();
        drive(&mixed("runs = 1\ninstructions_factor = 10"), 1, policy.as_mut(), 200, |_, seen, plan| {
            clusters.take(seen, plan);
            sampled.push(seen.machine.llcs().iter().filter(|llc| clusters.is_sampling(llc.id)).count());
        });
        let (warm_up, steady) = sampled.split_at(80);
        assert!(warm_up.iter().sum::<usize>() > 40, "{name}: classes have to be learnt");
        let part = f64::from(u32::try_from(steady.iter().sum::<usize>()).unwrap()) / (2.0 * 120.0);
        assert!(part < 0.01, "{name}: {part} of the time is spent sampling");
    }
}

/// A program that is light for 40 s and then streams.
const CHANGING: &str = "[[app]]\nprogram = \"changing\"\n[[program]]\nname \
                        = \"changing\"\ninstructions_billion = 4000.0\n\
    base_cpi = 0.7\nmpki = { streaming = 20.0, reuse = 0.0, half_mib = 1.0 }\nmlp = 6.0\nwrite_back = 0.3\n\
    footprint_mib = 300.0\n[[program.phase]]\ninstructions_billion = 120.0\nmpki_factor = 0.005\n[[program.phase]]\n\
    instructions_billion = 3880.0\nmpki_factor = 1.0\n";

#[test]
fn a_class_change_is_noticed_within_a_bounded_number_of_epochs() {
    let apps = [("soplex", 1, 1), ("omnetpp", 1, 1), ("mcf17", 1, 1), ("namd", 2, 1)];
    let all = workload(
        "runs = 1\ninstructions_factor = 10",
        &apps,
        &CHANGING.replace("4000.0", "400.0").replace("3880.0", "280.0"),
    );
    let mut policy = build("lfoc+", &Settings::default()).unwrap();
    let mut clusters = Clusters::default();
    let (mut changed, mut noticed) = (None, None);
    drive(&all, 1, policy.as_mut(), 140, |epoch, seen, plan| {
        clusters.take(seen, plan);
        let process = seen.processes.iter().find(|process| &*process.name == "changing").unwrap();
        let thread = &process.threads[0];
        if thread.mpki().is_some_and(|rate| rate.0 > 10.0) && changed.is_none() {
            changed = Some(epoch);
        }
        let confined = plan.actions.iter().any(|action| match action {
            Action::SetWays { cluster, threads, .. } => {
                cluster.starts_with("streaming") && threads.contains(&thread.tid)
            }
            _ => false,
        });
        if changed.is_some() && confined && noticed.is_none() {
            noticed = Some(epoch);
        }
    });
    // Three epochs that do not match, two or three readings, and another program that may be
    // sampled at that time.
    let (changed, noticed) = (changed.unwrap(), noticed.unwrap());
    assert!(changed > 20 && noticed - changed <= 8, "changed in epoch {changed}, confined in epoch {noticed}");
}

/// Greatest minus least value.
fn spread(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max) - values.iter().copied().fold(f64::MAX, f64::min)
}

#[test]
fn divide_content_is_fairer_than_the_stock_scheduler_and_its_runs_spread_less() {
    let all = mixed("runs = 2");
    let alone: Vec<f64> = all.apps.iter().map(|app| SimMachine::alone_seconds(&all, app).unwrap().unwrap()).collect();
    let unfairness = |name: &str, seed: u64| {
        let report = run_policy(&all, seed, build(name, &Settings::default()).unwrap().as_mut()).unwrap();
        let slowdowns: Vec<f64> =
            report.apps.iter().zip(&alone).map(|(app, alone)| app.mean_seconds.unwrap() / alone).collect();
        isobar_model::metrics::summary(&slowdowns).unwrap().unfairness
    };
    let of = |name: &str| (1..=4).map(|seed| unfairness(name, seed)).collect::<Vec<f64>>();
    let (linux, divide) = (of("linux"), of("divide-content"));
    assert!(divide.iter().all(|ours| linux.iter().all(|stock| ours < stock)), "{divide:?} {linux:?}");
    eprintln!(
        "unfairness: linux {linux:?} (spread {:.3}), divide-content {divide:?} (spread {:.3})",
        spread(&linux),
        spread(&divide)
    );
}
