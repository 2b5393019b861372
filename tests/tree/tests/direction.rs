//! Inside a crate, imports run in one direction: between its folders, and between its files.

#![allow(clippy::unwrap_used, clippy::panic)]

use isobar_tree::crates::{MAY_IMPORT, folder};
use isobar_tree::source::{Crate, Module};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeSet;

type Edges = BTreeSet<(Module, Module)>;

/// Files that form a circle with their own children, and why that is right: a registry with what it
/// lists, or one type whose methods are spread over several files.
const ONE_THING: [(&str, &str, &str); 5] = [
    ("isobar", "verbs", "the registry of verbs"),
    ("isobar-linux", "sensors::counters::events", "the registry of event tables"),
    ("isobar-resctrl-double", "resctrl", "the state of resctrl, a file for each kind of kernel file"),
    ("isobar-sim", "host", "the simulated machine"),
    ("numasim-plugin", "world", "the one state of the plugin, its clocks and its page"),
];

/// Groups of modules in which each reaches each.
fn circles(edges: &Edges) -> Vec<Vec<&Module>> {
    let graph: DiGraphMap<&Module, ()> = edges.iter().map(|(from, to)| (from, to)).collect();
    tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1).collect()
}

/// The imports of each other in a circle, one a line.
fn described(package: &str, circle: &[&Module], edges: &Edges) -> String {
    let name = |module: &Module| if module.is_empty() { "the root".to_owned() } else { module.join("::") };
    let inside = edges.iter().filter(|(from, to)| circle.contains(&from) && circle.contains(&to));
    let lines: String = inside.map(|(from, to)| format!("\n    {} -> {}", name(from), name(to))).collect();
    format!("\n{package}:{lines}")
}

/// Whether a circle is one module with modules below it; then that module.
fn family<'a>(circle: &[&'a Module]) -> Option<&'a Module> {
    let parent = *circle.iter().min_by_key(|module| module.len())?;
    let below = |module: &&&Module| module.len() > parent.len() && module.starts_with(parent);
    (circle.iter().filter(below).count() == circle.len() - 1).then_some(parent)
}

fn crates() -> impl Iterator<Item = (&'static str, Crate)> {
    MAY_IMPORT.iter().map(|(package, _)| (*package, Crate::read(&folder(package).join("src"))))
}

#[test]
fn folders_import_each_other_in_one_direction() {
    let (mut files, mut found) = (0, String::new());
    for (package, source) in crates() {
        files += source.file_count();
        let edges = source.folder_edges();
        circles(&edges).iter().for_each(|circle| found += &described(package, circle, &edges));
    }
    assert!(files > 300, "only {files} files were read");
    assert!(found.is_empty(), "modules of one folder that import each other:{found}");
}

#[test]
fn files_import_each_other_in_one_direction() {
    let (mut met, mut found) = (BTreeSet::new(), String::new());
    for (package, source) in crates() {
        let edges = source.file_edges();
        for circle in circles(&edges) {
            let family = family(&circle).map(|module| module.join("::"));
            let listed = ONE_THING.iter().find(|(of, name, _)| *of == package && Some(*name) == family.as_deref());
            match listed {
                Some(listed) => drop(met.insert(*listed)),
                None => found += &described(package, &circle, &edges),
            }
        }
    }
    assert!(found.is_empty(), "files that import each other:{found}");
    let over: Vec<_> = ONE_THING.iter().filter(|listed| !met.contains(*listed)).collect();
    assert!(over.is_empty(), "no circle any more, take it off the list: {over:?}");
}

#[test]
fn a_circle_is_found_and_a_chain_is_none() {
    let module = |name: &str| name.split("::").map(str::to_owned).collect::<Module>();
    let edges = |list: &[(&str, &str)]| list.iter().map(|(from, to)| (module(from), module(to))).collect::<Edges>();
    assert!(circles(&edges(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    let round = edges(&[("a", "b"), ("b", "c"), ("c", "b")]);
    assert_eq!(described("x", &circles(&round)[0], &round), "\nx:\n    b -> c\n    c -> b");
    assert_eq!(family(&circles(&round)[0]), None);
    let own = edges(&[("a", "a::b"), ("a::b", "a")]);
    assert_eq!(family(&circles(&own)[0]), Some(&module("a")));
}
