//! Combines processes with the same name, or in the same service, container, pod or virtual
//! machine, into one program, because a person thinks of a service with many workers as one.

use crate::view::{Harm, ProgramView, View};
use std::collections::BTreeMap;

/// The programs of a view, combined by name, in the order of their lowest pids.
#[must_use]
pub fn by_name(view: &View) -> Vec<ProgramView> {
    by(view, |program| program.name.clone())
}

/// The programs of a view, combined by service, container, pod or virtual machine; programs without
/// one by their names.
#[must_use]
pub fn by_group(view: &View) -> Vec<ProgramView> {
    by(view, |program| group_of(program).to_owned())
}

/// The name of a program's group; the program's name if it has none.
#[must_use]
pub fn group_of(program: &ProgramView) -> &str {
    program.group.as_deref().unwrap_or(&program.name)
}

/// The programs of a view, combined by a key that also names them, in the order of their lowest
/// pids.
#[must_use]
pub fn by(view: &View, key: impl Fn(&ProgramView) -> String) -> Vec<ProgramView> {
    let mut groups: BTreeMap<String, Vec<&ProgramView>> = BTreeMap::new();
    for program in &view.programs {
        groups.entry(key(program)).or_default().push(program);
    }
    let one = |(name, members): (String, Vec<&ProgramView>)| ProgramView { name, ..together(&members) };
    let mut list: Vec<ProgramView> = groups.into_iter().map(one).collect();
    list.sort_by_key(|group| group.pid);
    list
}

/// Programs combined into one, with the name of the lowest pid; an empty program if there are none.
/// Figures that add up are summed, rates are means weighted by CPU time, and the largest slowdown
/// stands for all.
#[must_use]
pub fn together(members: &[&ProgramView]) -> ProgramView {
    let [first, rest @ ..] = members else { return ProgramView::default() };
    let processes = members.iter().map(|one| one.processes).sum();
    let mut group = ProgramView { processes, ..(*first).clone() };
    if rest.is_empty() {
        return group;
    }
    let by_time = |figure: fn(&ProgramView) -> Option<f64>| mean(members, figure);
    group.group.take_if(|one| members.iter().any(|other| other.group.as_ref() != Some(one)));
    group.managed = members.iter().any(|one| one.managed);
    group.cpus = sum(members, |one| one.cpus);
    group.bandwidth = sum(members, |one| one.bandwidth);
    (group.ipc, group.mpki, group.remote) =
        (by_time(|one| one.ipc), by_time(|one| one.mpki), by_time(|one| one.remote));
    // The program with the largest slowdown stands for all.
    if let Some(worst) = members.iter().max_by(|a, b| a.slowdown.unwrap_or(0.0).total_cmp(&b.slowdown.unwrap_or(0.0))) {
        (group.slowdown, group.contention, group.distance) = (worst.slowdown, worst.contention, worst.distance);
        group.harmed_by.clone_from(&worst.harmed_by);
    }
    group.class = members.iter().filter_map(|one| one.class).max();
    group.harms = members.iter().flat_map(|one| &one.harms).cloned().collect::<Vec<Harm>>();
    group.harms.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.pid.cmp(&b.pid)));
    group.pages = added(members, |one| one.pages.as_ref());
    group.runs_on = by_node(members);
    let newest = members.iter().filter_map(|one| one.last.as_ref());
    group.last = newest.max_by(|a, b| a.time_seconds.total_cmp(&b.time_seconds)).cloned();
    group.threads = members.iter().flat_map(|one| one.threads.iter().cloned()).collect();
    group
}

fn sum(members: &[&ProgramView], figure: fn(&ProgramView) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = members.iter().filter_map(|one| figure(one)).collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

/// The mean, weighted by CPU time.
fn mean(members: &[&ProgramView], figure: fn(&ProgramView) -> Option<f64>) -> Option<f64> {
    let weighed = members.iter().filter_map(|one| Some((figure(one)?, one.cpus.unwrap_or(1.0).max(1e-6))));
    let (sum, all) = weighed.fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + value * weight, all + weight));
    (all > 0.0).then(|| sum / all)
}

fn added(members: &[&ProgramView], pages: fn(&ProgramView) -> Option<&Vec<u64>>) -> Option<Vec<u64>> {
    let mut known = members.iter().filter_map(|one| pages(one));
    let first = known.next()?.clone();
    Some(known.fold(first, |sum, more| sum.iter().zip(more).map(|(a, b)| a + b).collect()))
}

/// The fraction of the CPU time of all programs on each node.
fn by_node(members: &[&ProgramView]) -> Option<Vec<f64>> {
    let nodes = members.iter().find_map(|one| one.runs_on.as_ref())?.len();
    let mut on = vec![0.0; nodes];
    for one in members {
        for (sum, part) in on.iter_mut().zip(one.runs_on.iter().flatten()) {
            *sum += part * one.cpus.unwrap_or(1.0).max(1e-6);
        }
    }
    let all: f64 = on.iter().sum();
    Some(on.into_iter().map(|time| time / all.max(1e-9)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::Pid;

    #[test]
    fn programs_of_a_service_are_one_line_and_others_go_by_name() {
        let one = |pid: u32, name: &str, group: Option<&str>| ProgramView {
            pid: Pid(pid),
            name: name.into(),
            group: group.map(str::to_owned),
            processes: 1,
            ..ProgramView::default()
        };
        let pg = Some("unit:postgresql.service");
        let programs = vec![
            one(1, "postgres", pg),
            one(2, "walwriter", pg),
            one(3, "make", None),
            one(4, "postgres", None),
            one(5, "make", None),
        ];
        let view = View { programs, ..View::default() };
        let told = |list: Vec<ProgramView>| -> Vec<(String, usize, Option<String>)> {
            list.into_iter().map(|one| (one.name, one.processes, one.group)).collect()
        };
        let group = pg.map(str::to_owned);
        assert_eq!(
            told(by_group(&view)),
            [
                ("unit:postgresql.service".into(), 2, group.clone()),
                ("make".into(), 2, None),
                ("postgres".into(), 1, None)
            ]
        );
        assert_eq!(told(by_name(&view))[0], ("postgres".into(), 2, None), "of a service and of none");
    }

    #[test]
    fn workers_of_a_name_are_one_line() {
        let one = |pid: u32, name: &str, cpus: f64, slowdown: f64| ProgramView {
            pid: Pid(pid),
            name: name.into(),
            processes: 1,
            cpus: Some(cpus),
            ipc: Some(cpus),
            slowdown: Some(slowdown),
            pages: Some(vec![u64::from(pid), 1]),
            runs_on: Some(vec![1.0, 0.0]),
            ..ProgramView::default()
        };
        let view = View {
            programs: vec![one(1, "b", 1.0, 1.1), one(2, "a", 1.0, 1.0), one(3, "b", 3.0, 1.4)],
            ..View::default()
        };
        let groups = by_name(&view);
        assert_eq!(groups.iter().map(|group| (group.pid.0, group.processes)).collect::<Vec<_>>(), [(1, 2), (2, 1)]);
        let group = &groups[0];
        assert_eq!((group.cpus, group.ipc, group.slowdown), (Some(4.0), Some(2.5), Some(1.4)), "(1 + 9) / 4");
        assert_eq!((group.pages.clone(), group.runs_on.clone()), (Some(vec![4, 2]), Some(vec![1.0, 0.0])));
    }
}
