//! Properties of every registered policy, over random machines and observations.

#![allow(clippy::unwrap_used, clippy::panic)]

mod cases;
mod groups;

use cases::{Case, case, observations};
use isobar_model::topology::Node;
use isobar_model::wire::{observation_from_json, observation_to_json};
use isobar_model::{
    Action, ActionOutcome, CpuId, LlcId, NodeId, Observation, Outcome, Pages, Pid, Plan, Policy, Process, Tid, num,
};
use isobar_policy::Settings;
use isobar_policy::registry::{build, entries};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn policies() -> Vec<Box<dyn Policy>> {
    let mut quick = Settings::default();
    quick.set("dino.class_window", "2").unwrap();
    quick.set("dino.class_votes", "1").unwrap();
    let defaults = entries().iter().map(|entry| build(entry.name, &Settings::default()).unwrap());
    let mut fixed = Settings::default();
    fixed.set("fixed.threads", "p/1=0 p=1 q=2").unwrap();
    fixed.set("fixed.pages", "p=0>1 p=2>3").unwrap();
    let mut eager = Settings::default();
    for name in WAYS {
        eager.set(&format!("{name}.warm_up_seconds"), "0").unwrap();
        eager.set(&format!("{name}.transition_epochs"), "1").unwrap();
        eager.set(&format!("{name}.rest_epochs"), "0").unwrap();
    }
    let eager = WAYS.map(|name| build(name, &eager).unwrap());
    defaults.chain([build("dino", &quick).unwrap(), build("fixed", &fixed).unwrap()]).chain(eager).collect()
}

/// The policies that divide ways.
const WAYS: [&str; 3] = ["lfoc+", "divide-content", "dino+lfoc+"];

/// Clusters by LLC and name, as a machine keeps them: ways and threads.
type Clusters = BTreeMap<(LlcId, String), (u64, BTreeSet<Tid>)>;

/// Carries out a plan's clusters: a thread is in at most one, and an empty cluster is removed.
fn set_ways(clusters: &mut Clusters, plan: &Plan) {
    for action in &plan.actions {
        if let Action::SetWays { llc, cluster, way_mask, threads, .. } = action {
            clusters.values_mut().for_each(|(_, members)| members.retain(|tid| !threads.contains(tid)));
            clusters.insert((*llc, cluster.clone()), (*way_mask, threads.iter().copied().collect()));
            clusters.retain(|_, (_, members)| !members.is_empty());
        }
    }
}

/// Masks of an LLC are contiguous, lie side by side, and cover it.
fn check_masks(clusters: &Clusters, seen: &Observation) {
    for llc in seen.machine.llcs() {
        let masks: Vec<u64> =
            clusters.iter().filter(|((of, _), _)| *of == llc.id).map(|(_, (mask, _))| *mask).collect();
        // A program that is sampled alone leaves the rest of the cache unused.
        let alone = masks.len() == 1 && clusters.contains_key(&(llc.id, "sampling".to_owned()));
        if masks.is_empty() || alone {
            continue;
        }
        let all = (1u64 << llc.ways.unwrap().0) - 1;
        assert_eq!(masks.iter().fold(0, |sum, mask| sum | mask), all, "{clusters:x?}");
        assert_eq!(masks.iter().map(|mask| mask.count_ones()).sum::<u32>(), all.count_ones(), "{clusters:x?}");
        assert!(
            masks.iter().all(|mask| {
                let low = mask >> mask.trailing_zeros();
                low & (low + 1) == 0
            }),
            "{masks:x?}"
        );
        assert!((2..=15).contains(&masks.len()), "{masks:x?}");
    }
}

/// The plans of a policy that hears that each of them was carried out.
fn run(policy: &mut dyn Policy, seen: &[Observation]) -> Vec<Plan> {
    let decided = |seen| {
        let plan = policy.decide(seen);
        policy.applied(&plan, &Outcome::all_done(&plan));
        plan
    };
    seen.iter().map(decided).collect()
}

/// Number of threads on every CPU after a plan; only threads that were measured or pinned count.
fn loads(seen: &Observation, plan: &Plan) -> BTreeMap<CpuId, u32> {
    let mut cpu: BTreeMap<Tid, CpuId> = BTreeMap::new();
    for (_, thread) in seen.threads().filter(|(_, thread)| thread.mpki().is_some()) {
        cpu.insert(thread.tid, thread.cpu.unwrap());
    }
    for action in &plan.actions {
        if let Action::MoveThread { tid, cpu: to, .. } = action {
            assert!(cpu.insert(*tid, *to).is_some(), "a thread that was not measured is moved");
        }
    }
    let mut loads: BTreeMap<CpuId, u32> = seen.machine.online().iter().map(|cpu| (cpu, 0)).collect();
    cpu.values().for_each(|cpu| *loads.get_mut(cpu).unwrap() += 1);
    loads
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn plans_are_valid(case in case()) {
        let seen = observations(&case, |id| id);
        for mut policy in policies() {
            for (seen, plan) in seen.iter().zip(run(policy.as_mut(), &seen)) {
                prop_assert_eq!(plan.validate(seen), Ok(()), "{}", policy.name());
                prop_assert_eq!(plan.policy.as_str(), policy.name());
            }
        }
    }

    #[test]
    fn every_effect_was_predicted_and_changes_are_counted(case in case()) {
        let mut case = case;
        free_all(&mut case);
        let mut seen = observations(&case, |id| id).swap_remove(0);
        let (mut last, mut begun) = (0, BTreeSet::new());
        let mut policy = build("isobar", &Settings::default()).unwrap();
        for epoch in 0..32 {
            seen.time.0 += 1.0;
            let plan = policy.decide(&seen);
            prop_assert_eq!(plan.validate(&seen), Ok(()));
            for effect in &plan.effects {
                prop_assert!(begun.remove(&effect.change), "change {} ends, but did not begin", effect.change);
                prop_assert!(effect.programs.is_sorted_by_key(|one| one.pid));
            }
            for prediction in &plan.predictions {
                prop_assert!(prediction.actions.is_sorted() && prediction.change > last, "{:?}", prediction);
                prop_assert!(prediction.programs.is_sorted_by_key(|one| one.pid));
                last = prediction.change;
                begun.insert(last);
            }
            // Some actions are refused, and held back later.
            let answer = |index: usize| match (epoch + index) % 3 {
                0 => ActionOutcome::Refused { errno: Some(1), why: "no".into() },
                _ => ActionOutcome::Done,
            };
            policy.applied(&plan, &Outcome { actions: (0..plan.actions.len()).map(answer).collect() });
        }
    }

    #[test]
    fn cores_are_loaded_evenly(case in case()) {
        let mut case = case;
        // All threads are measured and free to move: the first decision evens the cores out.
        for seed in case.processes.iter_mut().flat_map(|(threads, ..)| threads) {
            (seed.pinned, seed.allowed) = (false, None);
            seed.mpki = seed.mpki.or(Some(1));
        }
        let seen = &observations(&case, |id| id)[0];
        for name in ["di-plain", "di-migrate", "dino"] {
            let plan = build(name, &Settings::default()).unwrap().decide(seen);
            let loads = loads(seen, &plan);
            let (least, most) = (loads.values().min().unwrap(), loads.values().max().unwrap());
            prop_assert!(most - least <= 1, "{}: {:?}", name, loads);
            let total: u32 = loads.values().sum();
            prop_assert_eq!(num::index(total), seen.threads().count(), "no thread is lost");
        }
    }

    #[test]
    fn ways_are_contiguous_cover_the_cache_and_leave_no_thread_out(case in case()) {
        let seen = observations(&case, |id| id);
        for mut policy in policies().into_iter().filter(|policy| WAYS.contains(&policy.name())) {
            let mut clusters = Clusters::new();
            for (seen, plan) in seen.iter().zip(run(policy.as_mut(), &seen)) {
                set_ways(&mut clusters, &plan);
                check_masks(&clusters, seen);
                let of = |tid: Tid| clusters.iter().filter(move |(_, (_, members))| members.contains(&tid));
                let partitioned = |llc: LlcId| clusters.keys().any(|(of, _)| *of == llc);
                for (_, thread) in seen.threads().filter(|_| policy.name() == "lfoc+") {
                    let llc = seen.machine.llc_of(thread.cpu.unwrap()).unwrap();
                    let own: Vec<_> = of(thread.tid).map(|((llc, _), _)| *llc).collect();
                    prop_assert_eq!(own, if partitioned(llc) { vec![llc] } else { vec![] }, "{:?}", thread.tid);
                }
            }
        }
    }

    #[test]
    fn the_same_input_gives_the_same_plan(case in case()) {
        let seen = observations(&case, |id| id);
        for (mut one, mut two) in policies().into_iter().zip(policies()) {
            prop_assert_eq!(run(one.as_mut(), &seen), run(two.as_mut(), &seen));
        }
    }

    #[test]
    fn the_order_of_input_does_not_matter(case in case()) {
        let seen = observations(&case, |id| id);
        let shuffled: Vec<_> = seen.iter().map(|seen| {
            let mut doc = observation_to_json(seen);
            let processes = doc["processes"].as_array_mut().unwrap();
            processes.reverse();
            processes.iter_mut().for_each(|process| process["threads"].as_array_mut().unwrap().reverse());
            doc["machine"]["cpus"].as_array_mut().unwrap().reverse();
            observation_from_json(&doc.to_string()).unwrap()
        }).collect();
        for (mut one, mut two) in policies().into_iter().zip(policies()) {
            prop_assert_eq!(run(one.as_mut(), &seen), run(two.as_mut(), &shuffled));
        }
    }

    #[test]
    fn renaming_ids_permutes_the_plan(case in case()) {
        // Ties are broken by id, so the renaming keeps the order of ids: n becomes 7 n + 1000.
        let rename = |id: u32| 7 * id + 1000;
        let (plain, renamed) = (observations(&case, |id| id), observations(&case, rename));
        for (mut one, mut two) in policies().into_iter().zip(policies()) {
            let moves = |plans: Vec<Plan>, rename: &dyn Fn(u32) -> u32| -> Vec<(u32, u32)> {
                let of = |action: &Action| match action {
                    Action::MoveThread { tid, cpu, .. } => (rename(tid.0), cpu.0),
                    Action::WithdrawPages { pid, to, .. } => (rename(pid.0), to.map_or(0, |node| node.0)),
                    Action::MigratePages { pid, to, pages, .. } => (rename(pid.0), to.0 + num::narrow(usize::try_from(pages.0).unwrap())),
                    Action::SetWays { way_mask, threads, .. } => {
                        let tids = threads.iter().fold(0, |sum: u32, tid| sum.wrapping_mul(31).wrapping_add(rename(tid.0)));
                        (tids, num::narrow(usize::try_from(*way_mask).unwrap()))
                    }
                    Action::SetAllocation { pid, for_node, node, weights, .. } => {
                        let spread = weights.iter().fold(0, |sum: u32, it| sum.wrapping_mul(300) + it.node.0 + u32::from(it.weight));
                        (rename(pid.0), node.0 + for_node.map_or(0, |node| 10 * (node.0 + 1)) + spread.wrapping_mul(100))
                    }
                };
                plans.iter().flat_map(|plan| plan.actions.iter().map(of)).collect()
            };
            prop_assert_eq!(moves(run(one.as_mut(), &plain), &rename), moves(run(two.as_mut(), &renamed), &|id| id));
        }
    }

    #[test]
    fn dino_comes_to_rest(case in case()) {
        // Carrying out decisions with unchanged miss rates ends in a placement that DINO leaves
        // alone.
        let mut seen = observations(&case, |id| id).swap_remove(0);
        seen.processes.iter_mut().for_each(|process| process.pages = None);
        let mut dino = build("dino", &Settings::default()).unwrap();
        let mut moves = usize::MAX;
        for _ in 0..30 {
            let plan = dino.decide(&seen);
            moves = plan.actions.iter().filter(|action| matches!(action, Action::MoveThread { .. })).count();
            if moves == 0 {
                break;
            }
            carry_out(&mut seen, &plan);
        }
        prop_assert_eq!(moves, 0);
    }

    #[test]
    fn nmass_carried_out_moves_nothing(case in case()) {
        for name in NMASS {
            let mut seen = observations(&case, |id| id).swap_remove(0);
            let mut policy = build(name, &Settings::default()).unwrap();
            let plan = policy.decide(&seen);
            carry_out(&mut seen, &plan);
            prop_assert_eq!(policy.decide(&seen).actions, vec![], "{}", name);
            // A new policy without this decision moves nothing either. Exceptions are confined
            // threads whose CPUs overlap, and threads that share cores: these may settle in steps,
            // because which of a core's threads counts as its holder depends on which came first.
            let rest = (0..10).find(|_| {
                let plan = build(name, &Settings::default()).unwrap().decide(&seen);
                carry_out(&mut seen, &plan);
                plan.actions.is_empty()
            });
            let confined = seen.threads().any(|(_, thread)| thread.allowed_cpus.is_some());
            let cores: BTreeSet<_> = seen.machine.cpus().iter().map(|cpu| cpu.core).collect();
            let crowded = seen.threads().count() > cores.len();
            prop_assert!(if confined || crowded { rest.is_some() } else { rest == Some(0) }, "{}: {:?}", name, rest);
        }
    }

    #[test]
    fn nmass_keeps_every_core_busy_and_maximum_local_is_local(case in case()) {
        let mut case = case;
        free_all(&mut case);
        for name in NMASS {
            let mut seen = observations(&case, |id| id).swap_remove(0);
            gather(&mut seen);
            let plan = build(name, &Settings::default()).unwrap().decide(&seen);
            carry_out(&mut seen, &plan);
            let mut cores: BTreeMap<_, usize> = seen.machine.cpus().iter().map(|cpu| (cpu.core, 0)).collect();
            for (_, thread) in seen.threads() {
                *cores.get_mut(&seen.machine.cpu(thread.cpu.unwrap()).unwrap().core).unwrap() += 1;
            }
            let (least, most) = (cores.values().min().unwrap(), cores.values().max().unwrap());
            prop_assert!(*most <= 1 || most - least <= 1, "{}: {:?}", name, cores);
            if name == "maximum-local" {
                prop_assert!(local(&seen) >= can_be_local(&seen), "{} of {}", local(&seen), can_be_local(&seen));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_always_refused_is_asked_for_ever_more_rarely(case in case()) {
        let mut seen = observations(&case, |id| id).swap_remove(0);
        let no = || ActionOutcome::Refused { errno: Some(1), why: "no".into() };
        for mut policy in policies() {
            let mut asked: BTreeMap<(Pid, Tid), u32> = BTreeMap::new();
            for _ in 0..64 {
                let plan = policy.decide(&seen);
                prop_assert_eq!(plan.validate(&seen), Ok(()), "{}", policy.name());
                for action in &plan.actions {
                    if let Action::MoveThread { pid, tid, .. } = action {
                        *asked.entry((*pid, *tid)).or_default() += 1;
                    }
                }
                policy.applied(&plan, &Outcome { actions: plan.actions.iter().map(|_| no()).collect() });
                seen.time.0 += 1.0;
            }
            // In the epochs 0, 2, 6, 14, 30 and 62.
            prop_assert!(asked.values().all(|times| *times <= 6), "{}: {:?}", policy.name(), asked);
        }
    }
}

const NMASS: [&str; 3] = ["maximum-local", "n-mass", "n-mass-regression"];

/// No thread is pinned or confined, all are measured, and every process has a home.
fn free_all(case: &mut Case) {
    for (threads, pages, ..) in &mut case.processes {
        for seed in threads {
            (seed.pinned, seed.allowed, seed.mpki) = (false, None, seed.mpki.or(Some(1)));
        }
        *pages = pages.take().filter(|pages| pages[0] > 0).or(Some(vec![1, 0, 0, 0]));
    }
}

fn carry_out(seen: &mut Observation, plan: &Plan) {
    for action in &plan.actions {
        if let Action::MoveThread { tid, cpu, .. } = action {
            let mut threads = seen.processes.iter_mut().flat_map(|process| &mut process.threads);
            threads.find(|thread| thread.tid == *tid).unwrap().cpu = Some(*cpu);
        }
    }
}

/// Gives every process more than half of its pages on one node.
fn gather(seen: &mut Observation) {
    for process in &mut seen.processes {
        let home = home(process);
        let Some(pages) = &mut process.pages else { continue };
        *pages =
            pages.iter().map(|(node, count)| (node, if node == home { *count } else { Pages(count.0 / 8) })).collect();
    }
}

/// The node with most pages; on a tie the lowest.
fn home(process: &Process) -> NodeId {
    process.pages.as_ref().unwrap().iter().rev().max_by_key(|(_, pages)| pages.0).unwrap().0
}

fn local(seen: &Observation) -> usize {
    seen.threads().filter(|(process, thread)| seen.machine.node_of(thread.cpu.unwrap()) == Some(home(process))).count()
}

/// The most threads that can be local with one thread per core: for every home, the lesser of its
/// cores and its threads.
fn can_be_local(seen: &Observation) -> usize {
    let of_node = |node: &Node| {
        let cpus = seen.machine.cpus().iter().filter(|cpu| cpu.node == Some(node.id));
        let cores = cpus.map(|cpu| cpu.core).collect::<BTreeSet<_>>().len();
        let threads = seen.threads().filter(|(process, _)| home(process) == node.id).count();
        cores.min(threads)
    };
    seen.machine.nodes().iter().map(of_node).sum()
}
