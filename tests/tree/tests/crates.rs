//! The walls between crates, as ARCHITECTURE.md states them. A wall that is not checked is not a
//! wall.

#![allow(clippy::unwrap_used, clippy::panic)]

use isobar_tree::crates::{MAY_IMPORT, folder, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates that do no I/O, with every foreign crate that they may import (none of these accesses the
/// outside world).
const PURE: [(&str, &[&str]); 14] = [
    ("isobar-allocation", &[]),
    ("isobar-contention", &["thiserror"]),
    ("isobar-control", &["serde", "serde_json", "thiserror"]),
    ("isobar-groups", &[]),
    ("isobar-metrics", &["prometheus-client"]),
    ("isobar-model", &["serde", "serde_json", "serde_path_to_error", "thiserror"]),
    // Traces are read from readers and written to writers that the caller supplies.
    ("isobar-pages", &["crc32fast", "csv", "lz4_flex", "rand_chacha", "serde", "serde_json", "thiserror"]),
    ("isobar-partition", &["thiserror"]),
    // rayon distributes work over cores; answers do not depend on the number of cores.
    ("isobar-optima", &["rayon", "thiserror"]),
    ("isobar-policy", &["serde", "serde_path_to_error", "strsim", "thiserror", "toml"]),
    // Both read strings and touch no file.
    ("isobar-profiles", &["csv", "serde", "serde_json", "thiserror", "toml"]),
    ("isobar-sim", &["rand", "rand_chacha", "serde", "serde_path_to_error", "strsim", "thiserror", "toml"]),
    ("isobar-view", &["serde"]),
    ("numasim-model", &["iced-x86", "serde", "thiserror", "toml"]),
];

/// For each of our crates, the names of what it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Normal dependencies of each of our crates.
fn imports() -> Imports {
    dependencies(serde_json::Value::is_null)
}

/// Dependencies of these kinds (`null` is a normal one) of each of our crates.
fn dependencies(of: impl Fn(&serde_json::Value) -> bool) -> Imports {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let normal = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().unwrap();
        all.iter().filter(|dependency| of(&dependency["kind"])).map(name).collect()
    };
    metadata["packages"].as_array().unwrap().iter().map(|package| (name(package), normal(package))).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn crates_import_only_what_they_may() {
    let imports = imports();
    let known: BTreeSet<&str> = MAY_IMPORT.iter().map(|(name, _)| *name).collect();
    assert_eq!(imports.keys().map(String::as_str).collect::<BTreeSet<_>>(), known, "a crate without a rule");
    let wrong = over_the_walls(&imports);
    assert!(wrong.is_empty(), "crates must not import:\n{}", wrong.join("\n"));
}

/// Imports of our crates that no rule allows, one per line.
fn over_the_walls(imports: &Imports) -> Vec<String> {
    let ours = |import: &String| imports.contains_key(import);
    let wrong = |(name, allowed): &(&str, &[&str])| -> Vec<String> {
        let wrong = imports[*name].iter().filter(|import| ours(import) && !allowed.contains(&import.as_str()));
        wrong.map(|import| format!("{name} -> {import}")).collect()
    };
    MAY_IMPORT.iter().flat_map(wrong).collect()
}

/// A permission that is not used is a hole in the wall.
#[test]
fn no_crate_may_import_what_it_does_not() {
    let imports = imports();
    let unused = |(name, allowed): &(&str, &[&str])| -> Vec<String> {
        let unused = allowed.iter().filter(|import| !imports[*name].contains(**import));
        unused.map(|import| format!("{name} -> {import}")).collect()
    };
    let unused: Vec<_> = MAY_IMPORT.iter().flat_map(unused).collect();
    assert!(unused.is_empty(), "take them off the list:\n{}", unused.join("\n"));
}

#[test]
fn an_import_over_a_wall_is_seen() {
    for (name, import) in [
        ("isobar-policy", "isobar-linux"),
        ("isobar-linux", "isobar-policy"),
        ("isobar-sim", "isobar-policy"),
        ("isobar-linux", "numasim-bridge"),
        ("numasim-model", "isobar-model"),
    ] {
        let mut imports = imports();
        imports.get_mut(name).unwrap().insert(import.to_owned());
        assert_eq!(over_the_walls(&imports), [format!("{name} -> {import}")]);
    }
}

/// numasim uses isobar's figures and nothing else, even in its tests, and the Linux machine does
/// not know that numasim exists.
#[test]
fn numasim_and_isobar_meet_in_the_bridge_alone() {
    let any = dependencies(|_| true);
    for name in ["numasim-model", "numasim-page", "numasim-plugin", "numasim-guest", "numasim"] {
        let wrong: Vec<_> =
            any[name].iter().filter(|import| import.starts_with("isobar") && *import != "isobar-plot").collect();
        assert!(wrong.is_empty(), "{name} must not import {wrong:?}");
    }
    let mut found = Vec::new();
    sources(&folder("isobar-linux"), &mut found);
    found.push(folder("isobar-linux").join("Cargo.toml"));
    let names = |path: &&PathBuf| std::fs::read_to_string(path).unwrap().to_lowercase().contains("numasim");
    assert_eq!(found.iter().filter(names).collect::<Vec<_>>(), [""; 0].map(PathBuf::from).iter().collect::<Vec<_>>());
}

#[test]
fn pure_crates_import_no_way_out() {
    let imports = imports();
    for (name, allowed) in PURE {
        let pure = |import: &&String| !PURE.iter().any(|(of_ours, _)| of_ours == import);
        let foreign = imports[name].iter().filter(pure);
        let wrong: Vec<_> = foreign.filter(|import| !allowed.contains(&import.as_str())).collect();
        assert!(wrong.is_empty(), "{name} is pure and must not import {wrong:?}; if they do no I/O, list them here");
    }
}

/// Every crate that the map calls pure is on the list above.
#[test]
fn crates_that_the_map_calls_pure_are_checked() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let pure = map.lines().filter(|line| line.ends_with("Pure")).filter_map(|line| line.split_whitespace().next());
    let unchecked = |path: &&str| !PURE.iter().any(|(name, _)| folder(name) == root().join(path));
    let (pure, unchecked): (Vec<_>, Vec<_>) = (pure.clone().collect(), pure.filter(unchecked).collect());
    assert!(pure.len() > 8 && unchecked.is_empty(), "{pure:?}: not on the list: {unchecked:?}");
}

#[test]
fn pure_crates_share_one_list_of_forbidden_things() {
    let list = |name: &str| std::fs::read_to_string(folder(name).join("clippy.toml")).unwrap();
    let first = list(PURE[0].0);
    assert!(first.contains("std::time::Instant::now") && first.contains("std::collections::HashMap"));
    PURE.iter().for_each(|(name, _)| assert_eq!(list(name), first, "{name}/clippy.toml differs"));
}

/// Crates with unsafe code: isobar's own crate for it, the libraries that are preloaded into
/// programs, the one that QEMU loads, and those of numasim that map the page and talk to QEMU.
const UNSAFE: [&str; 6] =
    ["isobar-linux", "isobar-shim", "isobar-tracer-names", "isobar-tracer-plugin", "numasim-page", "numasim-plugin"];

#[test]
fn unsafe_code_lives_in_the_crates_that_may_have_it() {
    for (name, _) in MAY_IMPORT.iter().filter(|(name, _)| !UNSAFE.contains(name)) {
        let folder = folder(name).join("src");
        let top = ["lib.rs", "main.rs"].iter().map(|file| folder.join(file)).find(|file| file.exists()).unwrap();
        let text = std::fs::read_to_string(&top).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{} must forbid unsafe code", top.display());
    }
}

#[test]
fn one_file_of_the_page_is_unsafe() {
    let mut found = Vec::new();
    sources(&root().join("numasim/page"), &mut found);
    let text = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
    let with: Vec<_> = found.iter().filter(|path| text(path).contains("unsafe {")).collect();
    assert_eq!(with, [&root().join("numasim/page/src/map.rs")]);
    assert!(text(&root().join("numasim/page/src/lib.rs")).contains("#![deny(unsafe_code)]"));
}

/// The tests of a crate are modules of one program, such as `tests/it/main.rs`. A file that this
/// program does not name would never run.
#[test]
fn every_file_of_a_test_program_is_one_of_its_modules() {
    let (mut found, mut modules) = (Vec::new(), 0);
    ["crates", "numasim"].iter().for_each(|folder| sources(&root().join(folder), &mut found));
    let beside = |main: &&PathBuf| main.ends_with("main.rs") && main.ancestors().nth(2).unwrap().ends_with("tests");
    for main in found.iter().filter(beside) {
        let text = std::fs::read_to_string(main).unwrap();
        for entry in std::fs::read_dir(main.parent().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            let (name, module) = (path.file_stem().unwrap().to_string_lossy(), path.extension().map(|end| end == "rs"));
            if name == "main" || !module.unwrap_or_else(|| path.join("mod.rs").exists()) {
                continue;
            }
            assert!(text.contains(&format!("mod {name};")), "{} is not in {}", path.display(), main.display());
            modules += 1;
        }
    }
    assert!(modules > 40, "{modules} modules");
}

#[test]
fn files_stay_small() {
    let mut found = Vec::new();
    sources(&root().join("crates"), &mut found);
    sources(&root().join("numasim"), &mut found);
    sources(&root().join("tests"), &mut found);
    assert!(found.len() > 20);
    let lines = |path: &PathBuf| std::fs::read_to_string(path).unwrap().lines().count();
    let large: Vec<_> = found.iter().filter(|path| lines(path) > 500).collect();
    assert!(large.is_empty(), "over 500 lines, look for the second idea: {large:?}");
}
