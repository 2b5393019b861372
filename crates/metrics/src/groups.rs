//! Families of groups of programs, by their service, container, pod or virtual machine, or by name
//! if they have none. The busiest groups have their own series, all others share one.

use crate::family::{Families, Label, Named, label, named};
use crate::group_chooser::{GroupChooser, OTHER};
use isobar_model::num::{float, float_len};
use isobar_view::{Harm, NodeView, ProgramView, View, group};

/// The groups of a view, each with its label.
pub type Groups = Vec<(String, ProgramView)>;

/// The groups that have their own series, and the rest as one group.
pub fn groups(view: &View, roster: &mut GroupChooser) -> Groups {
    // Grouped by the label and not by the name: two names may have the same label, and no series
    // may appear twice.
    let all = group::by(view, |program| label("group", group::group_of(program)).1);
    // A group that calls itself "other" is counted among the others.
    let ranked: Vec<(String, f64)> =
        all.iter().filter(|one| one.name != OTHER).map(|one| (one.name.clone(), one.cpus.unwrap_or(0.0))).collect();
    let chosen = roster.choose(view.time_seconds, &ranked);
    let mut shown = Groups::new();
    let mut rest = Vec::new();
    for one in &all {
        if chosen.contains(&one.name) {
            shown.push((one.name.clone(), one.clone()));
        } else {
            rest.push(one);
        }
    }
    if !rest.is_empty() {
        shown.push((OTHER.to_owned(), group::together(&rest)));
    }
    shown
}

/// Adds the families of groups.
pub fn families(groups: &Groups, nodes: &[NodeView], all: &mut Families) {
    sizes(groups, all);
    slowdowns(groups, all);
    rates(groups, all);
    pages(groups, nodes, all);
}

fn each(all: &mut Families, groups: &Groups, named: Named, figure: impl Fn(&ProgramView) -> Option<f64>) {
    all.gauge(named, groups.iter().map(|(name, one)| (vec![label("group", name)], figure(one))));
}

fn sizes(groups: &Groups, all: &mut Families) {
    let mut add = |named, figure: fn(&ProgramView) -> Option<f64>| each(all, groups, named, figure);
    add(named("group_processes", "", "Processes of the group"), |one| Some(float_len(one.processes)));
    add(named("group_threads", "", "Threads of the group that are watched"), |one| Some(float_len(one.threads.len())));
    add(named("group_cpus", "", "CPU time that the group uses, in CPUs"), |one| one.cpus);
}

fn slowdowns(groups: &Groups, all: &mut Families) {
    let mut add = |named, figure: fn(&ProgramView) -> Option<f64>| each(all, groups, named, figure);
    add(
        named(
            "group_slowdown",
            "ratio",
            "How many times longer the group's slowest program takes than alone with its pages on its node, estimated",
        ),
        |one| one.slowdown,
    );
    add(named("group_contention", "ratio", "The factor of this slowdown that other programs cause"), |one| {
        one.contention
    });
    add(named("group_distance", "ratio", "The factor of this slowdown that remote pages cause"), |one| one.distance);
    add(
        named(
            "group_harm_suffered",
            "ratio",
            "How much faster the group's slowest program would be without its worst neighbour",
        ),
        |one| one.slowdown.map(|_| worst(&one.harmed_by)),
    );
    add(
        named("group_harm_caused", "ratio", "How much faster other programs would be without the group, summed"),
        |one| one.slowdown.map(|_| one.harms.iter().map(|harm| harm.gain).sum()),
    );
}

fn worst(harms: &[Harm]) -> f64 {
    harms.iter().map(|harm| harm.gain).fold(0.0, f64::max)
}

fn rates(groups: &Groups, all: &mut Families) {
    let mut add = |named, figure: fn(&ProgramView) -> Option<f64>| each(all, groups, named, figure);
    add(named("group_ipc", "", "Instructions per cycle of the group, averaged by CPU time"), |one| one.ipc);
    add(
        named("group_mpki", "", "Last-level cache misses per 1000 instructions of the group, averaged by CPU time"),
        |one| one.mpki,
    );
    add(named("group_memory", "bytes_per_second", "Memory traffic of the group, reads and writes"), |one| {
        one.bandwidth
    });
    add(
        named("group_remote_pages", "ratio", "Fraction of the group's resident pages on nodes where it does not run"),
        |one| one.remote,
    );
}

fn pages(groups: &Groups, nodes: &[NodeView], all: &mut Families) {
    let own =
        |name: &str, node: &NodeView| -> Vec<Label> { vec![label("group", name), label("node", node.id.to_string())] };
    let by_node = groups.iter().flat_map(|(name, one)| {
        let counts = one.pages.iter().flatten();
        nodes.iter().zip(counts).map(move |(node, count)| (own(name, node), Some(float(*count))))
    });
    all.gauge(named("group_pages", "", "Resident pages of the group by node"), by_node);
    let runs = groups.iter().flat_map(|(name, one)| {
        let parts = one.runs_on.iter().flatten();
        nodes.iter().zip(parts).map(move |(node, part)| (own(name, node), Some(*part)))
    });
    all.gauge(named("group_runs_on", "ratio", "Fraction of the group's CPU time on the node"), runs);
}
