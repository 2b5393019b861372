//! Enumerates and evaluates every solution: independent of the crate's searches, and slow.

use isobar_model::metrics;
use isobar_optima::{Objective, TIE};
use isobar_partition::model::StaticModel;
use isobar_partition::{Cluster, Group, Solution};

/// The shape that groups may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    Alone,
    Any,
    Whole,
}

#[derive(Clone, Debug)]
pub struct Judged {
    pub solution: Solution,
    pub unfairness: f64,
    pub stp: f64,
}

/// All ways to split a list into parts; each part, and the list of parts, in order of their first
/// members.
pub fn partitions(list: &[usize]) -> Vec<Vec<Vec<usize>>> {
    let Some((last, rest)) = list.split_last() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for smaller in partitions(rest) {
        for part in 0..smaller.len() {
            let mut larger = smaller.clone();
            larger[part].push(*last);
            all.push(larger);
        }
        let mut larger = smaller;
        larger.push(vec![*last]);
        all.push(larger);
    }
    all
}

pub fn compositions(total: usize, parts: usize) -> Vec<Vec<usize>> {
    if parts == 0 {
        return if total == 0 { vec![Vec::new()] } else { Vec::new() };
    }
    (1..=total)
        .flat_map(|first| {
            compositions(total - first, parts - 1).into_iter().map(move |mut rest| {
                rest.insert(0, first);
                rest
            })
        })
        .collect()
}

pub fn groups(programs: &[usize], ways: usize, rule: Rule) -> Vec<Group> {
    let all = match rule {
        Rule::Whole => vec![vec![programs.to_vec()]],
        Rule::Alone => vec![programs.iter().map(|program| vec![*program]).collect()],
        Rule::Any => partitions(programs),
    };
    let sized = |parts: Vec<Vec<usize>>| {
        compositions(ways, parts.len()).into_iter().map(move |sizes| {
            parts.iter().zip(sizes).map(|(part, ways)| Cluster { programs: part.clone(), ways }).collect::<Group>()
        })
    };
    all.into_iter().flat_map(sized).collect()
}

/// All solutions that have a meaning.
pub fn all(
    model: &dyn StaticModel,
    groups_at_most: usize,
    cores: usize,
    choices: &dyn Fn(&[usize]) -> Vec<Group>,
) -> Vec<Judged> {
    let programs: Vec<usize> = (0..model.programs().len()).collect();
    let mut found = Vec::new();
    for mapping in partitions(&programs) {
        if mapping.len() > groups_at_most || mapping.iter().any(|group| group.len() > cores) {
            continue;
        }
        let mut whole: Vec<Vec<Group>> = vec![Vec::new()];
        for group in &mapping {
            let choices = choices(group);
            whole = whole
                .into_iter()
                .flat_map(|before| {
                    choices.iter().map(move |group| {
                        let mut longer = before.clone();
                        longer.push(group.clone());
                        longer
                    })
                })
                .collect();
        }
        found.extend(whole.into_iter().filter_map(|groups| judge(model, groups, groups_at_most)));
    }
    found
}

fn judge(model: &dyn StaticModel, mut groups: Vec<Group>, all: usize) -> Option<Judged> {
    groups.iter_mut().for_each(|group| group.sort());
    groups.sort();
    let order: Vec<usize> = groups.iter().flatten().flat_map(|cluster| cluster.programs.iter().copied()).collect();
    let effects = model.effects(&groups).ok()?;
    let mut slowdowns = vec![0.0; order.len()];
    order.iter().zip(&effects).for_each(|(program, effect)| slowdowns[*program] = effect.slowdown);
    let summary = metrics::summary(&slowdowns)?;
    groups.resize(all, Vec::new());
    Some(Judged { solution: Solution { groups }, unfairness: summary.unfairness, stp: summary.stp })
}

/// The best solution by the rule of `Objective`: figures within `TIE` are equal, and the first of
/// the equals wins.
pub fn best(mut all: Vec<Judged>, objective: Objective) -> Option<Judged> {
    let keep_fair = |all: &mut Vec<Judged>| {
        let least = all.iter().map(|one| one.unfairness).fold(f64::INFINITY, f64::min);
        all.retain(|one| one.unfairness <= least * (1.0 + TIE));
    };
    let keep_fast = |all: &mut Vec<Judged>| {
        let most = all.iter().map(|one| one.stp).fold(0.0, f64::max);
        all.retain(|one| one.stp >= most * (1.0 - TIE));
    };
    match objective {
        Objective::Unfairness => {
            keep_fair(&mut all);
            keep_fast(&mut all);
        }
        Objective::Throughput => {
            keep_fast(&mut all);
            keep_fair(&mut all);
        }
    }
    all.into_iter().min_by(|a, b| a.solution.cmp(&b.solution))
}
