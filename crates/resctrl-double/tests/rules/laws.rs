//! Invariants that hold after any sequence of operations, however wrong these are.

use std::collections::{BTreeMap, BTreeSet};

use isobar_resctrl_double::{Errno, Machine};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::sample::select;

use crate::Double;

#[derive(Debug, Clone)]
enum Step {
    Mkdir(String),
    Rmdir(String),
    Write(String, String),
    Fork(u32, u32),
    Exit(u32),
}

const GROUPS: [&str; 9] =
    ["", "a", "b", "c", "mon_groups/m", "a/mon_groups/m", "a/mon_groups/n", "b/mon_groups/m", "info"];

fn group() -> impl Strategy<Value = String> {
    select(&GROUPS[..]).prop_map(str::to_owned)
}

fn tid() -> impl Strategy<Value = u32> {
    select(vec![1u32, 10, 11, 12, 20, 21, 22, 99])
}

fn text(file: &str) -> proptest::strategy::BoxedStrategy<String> {
    let mask = prop_oneof![
        any::<u16>().prop_map(|mask| format!("{mask:x}")),
        select(vec!["1", "3", "7f0", "7ff", "0", ""]).prop_map(str::to_owned)
    ];
    match file {
        "tasks" => proptest::collection::vec(tid(), 0..4)
            .prop_map(|tids| tids.iter().map(|tid| format!("{tid},")).collect())
            .boxed(),
        "mode" => select(vec!["shareable\n", "exclusive\n", "pseudo-locksetup\n", ""]).prop_map(str::to_owned).boxed(),
        _ => (select(vec![0u32, 3, 4]), mask, any::<bool>())
            .prop_map(|(domain, mask, mb)| format!("{}:{domain}={mask}\n", if mb { "MB" } else { "L3" }))
            .boxed(),
    }
}

fn step() -> impl Strategy<Value = Step> {
    let write = select(vec!["tasks", "mode", "schemata"])
        .prop_flat_map(|file| (group(), Just(file), text(file)))
        .prop_map(|(group, file, text)| Step::Write(format!("{group}/{file}"), text));
    prop_oneof![
        3 => group().prop_map(Step::Mkdir),
        2 => group().prop_map(Step::Rmdir),
        6 => write,
        1 => (tid(), tid()).prop_map(|(child, parent)| Step::Fork(child, parent)),
        1 => tid().prop_map(Step::Exit),
    ]
}

/// Takes a step if its folder exists, and returns how it ended; `None` if it was not taken.
fn take(double: &mut Double, step: &Step) -> Option<Result<(), Errno>> {
    // VFS never passes an empty name on.
    let folder = |double: &Double, path: &str| {
        !path.is_empty() && double.state.at(path.rsplit_once('/').map_or("", |(folder, _)| folder)).is_some()
    };
    match step {
        Step::Mkdir(path) => folder(double, path).then(|| double.mkdir(path)),
        Step::Rmdir(path) => folder(double, path).then(|| double.rmdir(path)),
        Step::Write(path, text) => double.state.at(path).is_some().then(|| double.write(path, text)),
        Step::Fork(child, parent) => {
            double.tasks.process(*child, *parent);
            None
        }
        Step::Exit(tid) => {
            double.tasks.exit(*tid);
            None
        }
    }
}

/// Folders of the control groups, the root's first, and of the monitor groups of each.
fn groups(double: &Double) -> Vec<(String, Vec<String>)> {
    let fixed = ["info", "mon_data", "mon_groups"];
    let folders = |path: &str| {
        double
            .state
            .children(double.node(path))
            .into_iter()
            .filter(|(_, node)| node.is_folder())
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    let own = folders("").into_iter().filter(|name| !fixed.contains(&name.as_str()));
    [String::new()]
        .into_iter()
        .chain(own)
        .map(|group| (group.clone(), folders(&format!("{group}/mon_groups"))))
        .collect()
}

fn numbers(text: &str) -> BTreeSet<u32> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// The ways of each domain as `schemata` shows them.
fn ways(schemata: &str) -> BTreeMap<u32, u32> {
    let line = schemata.lines().find_map(|line| line.trim().strip_prefix("L3:")).unwrap();
    let pair = |text: &str| {
        text.split_once('=').map(|(id, mask)| (id.parse().unwrap(), u32::from_str_radix(mask, 16).unwrap()))
    };
    line.split(';').map(|text| pair(text).unwrap()).collect()
}

fn check_laws(double: &mut Double) {
    let groups = groups(double);
    assert!(groups.len() <= 3, "as many groups as CLOSIDs");
    assert!(groups.iter().map(|(_, monitors)| 1 + monitors.len()).sum::<usize>() <= 6, "as many groups as RMIDs");
    let alive: BTreeSet<u32> = double.tasks.all().into_keys().collect();
    let mut tasks = Vec::new();
    let mut masks: Vec<(bool, BTreeMap<u32, u32>)> = Vec::new();
    for (group, monitors) in groups {
        let own = numbers(&double.read(&format!("{group}/tasks")));
        let below: Vec<u32> = monitors
            .iter()
            .flat_map(|name| numbers(&double.read(&format!("{group}/mon_groups/{name}/tasks"))))
            .collect();
        assert_eq!(below.len(), below.iter().collect::<BTreeSet<_>>().len(), "a task is in one monitor group at most");
        assert!(below.iter().all(|tid| own.contains(tid)), "a monitor group's task is its parent's");
        tasks.extend(own);
        masks.push((
            double.read(&format!("{group}/mode")) == "exclusive\n",
            ways(&double.read(&format!("{group}/schemata"))),
        ));
    }
    assert_eq!(tasks.len(), alive.len(), "each live task is in one control group");
    assert_eq!(tasks.into_iter().collect::<BTreeSet<_>>(), alive);
    for (index, (exclusive, own)) in masks.iter().enumerate() {
        for (domain, mask) in own {
            let run = mask >> mask.trailing_zeros();
            assert!(*mask != 0 && *mask <= 0x7ff && run & (run + 1) == 0, "{mask:x}");
            let others = masks.iter().enumerate().filter(|(other, _)| *other != index);
            assert!(
                !exclusive || others.into_iter().all(|(_, (_, other))| other[domain] & mask == 0),
                "what is exclusive is shared"
            );
        }
    }
}

proptest! {
    #[test]
    fn after_any_operations_everything_is_in_its_place(steps in proptest::collection::vec(step(), 1..60)) {
        let machine = Machine { closids: 3, rmids: 6, bandwidth: true, ..Machine::with_domains([0, 3]) };
        let mut double = Double::of(machine);
        for step in &steps {
            let before = double.state.journal().len();
            let schemata = double.read("schemata");
            let answer = take(&mut double, step);
            assert_eq!(double.state.journal().len() - before, usize::from(answer.is_some()));
            if matches!((step, answer), (Step::Write(path, _), Some(Err(_))) if path.ends_with("schemata")) {
                assert_eq!(double.read("schemata"), schemata, "a refused write changed something");
            }
            check_laws(&mut double);
        }
    }
}
