//! Tests of the direction tests: an import in the wrong direction is planted in a copy of one of
//! our crates, and in every form in which Rust allows it to be written.

#![allow(clippy::unwrap_used, clippy::panic)]

use isobar_tree::circles::{circles, described};
use isobar_tree::crates::folder;
use isobar_tree::source::{Crate, Edges};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Finds two folders of the crate, one of which imports the other, and adds an import in the
/// opposite direction.
fn turns_back(package: &str) {
    let sources = folder(package).join("src");
    let whole = Crate::read(&sources);
    assert!(circles(&whole.folder_edges()).is_empty(), "{package}");
    let edges = whole.file_edges();
    let apart = |(from, to): &&_| -> bool {
        let (from, to): (&Vec<String>, &Vec<String>) = (from, to);
        from.len() > 1 && to.len() > 1 && from[0] != to[0]
    };
    let (upper, lower) = edges.iter().find(apart).unwrap();
    let scratch = TempDir::new().unwrap();
    copy(&sources, scratch.path());
    let file = scratch.path().join(whole.path(lower));
    let line = format!("\nuse crate::{}::Planted;\n", upper.join("::"));
    fs::write(&file, fs::read_to_string(&file).unwrap() + &line).unwrap();

    let planted = Crate::read(scratch.path());
    let named = |edges: &Edges| -> String {
        circles(edges).iter().map(|circle| described(package, circle, edges)).collect::<String>()
    };
    let (folders, files) = (named(&planted.folder_edges()), named(&planted.file_edges()));
    assert!(folders.contains(&format!("{} -> {}", lower[0], upper[0])), "{package}: {folders}");
    assert!(files.contains(&format!("{} -> {}", lower.join("::"), upper.join("::"))), "{package}: {files}");
}

#[test]
fn an_import_that_turns_back_is_seen_in_the_largest_crates() {
    ["isobar-linux", "isobar-policy", "isobar-sim", "isobar-lab"].into_iter().for_each(turns_back);
}

/// A crate of two modules, `upper` over `lower`, with this text in `lower`.
fn small(lower: &str) -> Vec<String> {
    let scratch = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(scratch.path().join(name), text).unwrap();
    write("lib.rs", "mod lower;\nmod upper;\npub use upper::Upper;\n");
    write("upper.rs", "use crate::lower::Lower;\npub struct Upper(Lower);\npub const MOST: u32 = 1;\n");
    write("lower.rs", lower);
    let edges = Crate::read(scratch.path()).file_edges();
    circles(&edges).iter().map(|circle| described("small", circle, &edges)).collect()
}

#[test]
fn an_import_that_turns_back_is_seen_in_every_form() {
    for form in [
        "use crate::upper::Upper;",
        "use super::upper::{MOST, Upper};",
        "use crate::upper::*;",
        // Through the file that re-exports it.
        "use crate::Upper;",
        "fn f() { use crate::upper::Upper; }",
        "fn f() -> u32 { crate::upper::MOST }",
        "struct Lower(super::upper::Upper);",
        "fn f() { println!(\"{}\", crate::upper::MOST); }",
        "#[error(\"at most {}\", crate::upper::MOST)]\nstruct Lower;",
        "pub use crate::upper::Upper;\nfn f(upper: Upper) {}",
        "#[cfg(not(test))]\nuse crate::upper::Upper;",
    ] {
        let found = small(form);
        assert_eq!(found, ["\nsmall:\n    lower -> upper\n    upper -> lower"], "{form}");
    }
}

#[test]
fn what_is_no_import_back_is_none() {
    for form in [
        "pub struct Lower;",
        "pub use crate::upper::Upper;",
        "#[cfg(test)]\nmod tests { use crate::upper::Upper; }",
        "#[cfg(test)]\nuse crate::upper::Upper;",
        "// use crate::upper::Upper;",
        "const WORDS: &str = \"crate::upper::Upper\";",
    ] {
        assert_eq!(small(form), [""; 0], "{form}");
    }
}
