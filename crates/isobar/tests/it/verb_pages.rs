//! Checks that there is a page for each verb, made from its help, and that isobar knows every
//! command that a page shows. `ISOBAR_BLESS=1 cargo test -p isobar --test it verb_pages` writes the
//! pages anew.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use crate::support::{command, said};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// What `isobar WORDS --help` prints at 98 columns.
fn help(words: &[&str]) -> String {
    let args: Vec<&str> = words.iter().copied().chain(["--help"]).collect();
    said(&command(&args).env("COLUMNS", "98").output().unwrap()).done().to_owned()
}

/// The commands that a help text lists.
pub fn listed(help: &str) -> Vec<&str> {
    let list = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let name = |line: &'_ str| line.strip_prefix("  ").is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    lines
        .filter(|line| name(line))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|it| *it != "help")
        .collect()
}

/// A help text without the blanks that clap leaves at the ends of lines.
fn block(help: &str) -> String {
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", lines.join("\n").trim_end())
}

fn page(verb: &str) -> String {
    let own = help(&[verb]);
    let mut text = format!("# isobar {verb}\n\n`isobar {verb} --help`, word for word:\n\n{}", block(&own));
    for below in listed(&own) {
        text += &format!("\n## isobar {verb} {below}\n\n{}", block(&help(&[verb, below])));
    }
    text
}

/// Every verb, with the text that its page should have.
fn pages() -> BTreeMap<String, String> {
    let all = help(&[]);
    listed(&all).into_iter().map(|verb| (verb.to_owned(), page(verb))).collect()
}

#[test]
fn every_verb_has_its_page() {
    let folder = docs().join("verbs");
    let pages = pages();
    assert!(pages.len() > 15, "{:?}", pages.keys());
    if std::env::var("ISOBAR_BLESS").is_ok() {
        fs::create_dir_all(&folder).unwrap();
        pages.iter().for_each(|(verb, page)| fs::write(folder.join(format!("{verb}.md")), page).unwrap());
    }
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    for (verb, page) in &pages {
        let old = fs::read_to_string(folder.join(format!("{verb}.md"))).unwrap_or_default();
        let remedy = "ISOBAR_BLESS=1 cargo test -p isobar --test it verb_pages writes it anew";
        assert!(old == *page, "docs/verbs/{verb}.md is not what the help says: {remedy}");
        assert!(summary.contains(&format!("(verbs/{verb}.md)")), "docs/SUMMARY.md does not link {verb}");
    }
    let written: BTreeSet<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|it| it.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(written, pages.into_keys().collect(), "docs/verbs has pages of verbs that are gone");
}

/// Markdown files below a folder.
fn markdown(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { markdown(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|it| it == "md")).collect()
}

/// The commands in the code blocks of a page: the words after `isobar`, up to where the shell takes
/// over.
fn commands(page: &str) -> Vec<Vec<String>> {
    let blocks = page.split("```").skip(1).step_by(2).map(|block| block.replace("\\\n", " "));
    let mut found = Vec::new();
    for block in blocks {
        for line in block.lines() {
            let line = line.trim_start_matches("$ ").trim_start_matches("sudo ");
            let Some(rest) = line.strip_prefix("isobar ") else { continue };
            let stops = |word: &&str| !["#", "|", "||", "&&", ">", ";", "&"].contains(word) && !word.starts_with('>');
            found.push(
                rest.split_whitespace()
                    .take_while(stops)
                    .map(|it| it.trim_matches(['\'', '"', ';']).to_owned())
                    .collect(),
            );
        }
    }
    found
}

/// Options that a page shows must exist in the help of the verb, because pages are read long after
/// an option was renamed.
#[test]
fn options_that_pages_show_exist() {
    let root = docs().join("..");
    let mut files = markdown(&docs());
    files.push(root.join("README.md"));
    let pages = pages();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for file in files.iter().filter(|file| !file.parent().unwrap().ends_with("verbs")) {
        for words in commands(&fs::read_to_string(file).unwrap()) {
            let Some((verb, rest)) = words.split_first() else { continue };
            let Some(page) = pages.get(verb) else { continue };
            let own = rest.iter().take_while(|word| *word != "--");
            for option in own.filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap()) {
                seen += 1;
                let known = page.contains(&format!("{option} ")) || page.contains(&format!("{option}\n"));
                if !known && option != "--help" {
                    wrong.push(format!("{}: isobar {}", file.display(), words.join(" ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "pages show options that do not exist:\n{}", wrong.join("\n"));
    assert!(seen > 50, "{seen}");
}
