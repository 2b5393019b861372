//! Inside a crate, imports run in one direction: between its folders, and between its files.

#![allow(clippy::unwrap_used, clippy::panic)]

use isobar_tree::circles::{circles, described, family};
use isobar_tree::crates::{MAY_IMPORT, folder};
use isobar_tree::source::{Crate, Edges, Module};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Files that form a circle with their own children, and why that is right: a registry and its
/// entries, or one type whose methods are spread over several files.
const ONE_THING: [(&str, &str, &str); 6] = [
    ("isobar", "verbs", "the registry of verbs"),
    ("isobar-linux", "sensors::counters::events", "the registry of event tables"),
    ("isobar-runtime", "run", "the loop, and the seam of who commands it"),
    ("isobar-resctrl-double", "resctrl", "the state of resctrl, a file for each kind of kernel file"),
    ("isobar-sim", "host", "the simulated machine"),
    ("numasim-plugin", "world", "the one state of the plugin, its clocks and its page"),
];

/// Every crate, read only once for all tests.
static CRATES: LazyLock<Vec<(&str, Crate)>> = LazyLock::new(|| {
    MAY_IMPORT.iter().map(|(package, _)| (*package, Crate::read(&folder(package).join("src")))).collect()
});

#[test]
fn folders_import_each_other_in_one_direction() {
    let (mut files, mut found) = (0, String::new());
    for (package, source) in CRATES.iter() {
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
    for (package, source) in CRATES.iter() {
        let edges = source.file_edges();
        for circle in circles(&edges) {
            let family = family(&circle).map(|module| module.join("::"));
            let listed = ONE_THING.iter().find(|(of, name, _)| *of == *package && Some(*name) == family.as_deref());
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
