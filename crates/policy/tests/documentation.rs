//! Checks that the example configuration and the page of policies agree with the code. If they do
//! not, `ISOBAR_BLESS=1 cargo test -p isobar-policy --test documentation` writes them anew.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use isobar_policy::documentation::{example, page};
use isobar_policy::registry::{build, entries};
use isobar_policy::settings::Settings;
use std::path::{Path, PathBuf};

/// The line of the example file below which everything is made from the code.
const MARK: &str = "# Policies: one section each, made from the code. An interval or epoch is one decision.\n";

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

/// Compares the part of a file after `keep` with the expected text, or writes it.
fn check(file: &str, keep: &str, expected: &str) {
    let old = std::fs::read_to_string(path(file)).unwrap_or_default();
    let head = old.find(keep).map_or(keep, |at| &old[..at + keep.len()]);
    let new = format!("{head}{expected}");
    if std::env::var("ISOBAR_BLESS").is_ok() {
        std::fs::write(path(file), new).unwrap();
    } else {
        let remedy = "ISOBAR_BLESS=1 cargo test -p isobar-policy --test documentation writes it anew";
        assert!(old == new, "{file} is not what the code says: {remedy}");
    }
}

#[test]
fn the_page_of_policies_is_made_from_the_code() {
    check("docs/policies.md", "", &page());
}

#[test]
fn the_example_configuration_is_made_from_the_code() {
    check("examples/isobar.toml", MARK, &example());
}

#[test]
fn the_example_has_every_key_with_its_default() {
    let tables: toml::Table = example().parse().unwrap();
    for entry in entries() {
        let defaults: toml::Table = entry.settings().into_iter().map(|it| (it.key.to_owned(), it.default)).collect();
        assert_eq!(tables[entry.name], toml::Value::Table(defaults), "[{}]", entry.name);
    }
    let settings = Settings::from_tables(tables).unwrap();
    for entry in entries() {
        let policy = build(entry.name, &settings).unwrap();
        assert_eq!((policy.name(), policy.needs()), (entry.name, entry.needs));
    }
}

#[test]
fn every_setting_says_what_it_means_in_a_sentence() {
    for entry in entries() {
        for setting in entry.settings() {
            let name = format!("{}.{}: {}", entry.name, setting.key, setting.meaning);
            assert!(setting.meaning.ends_with('.') && setting.meaning.len() > 20, "{name}");
            assert!(!setting.meaning.contains("[`"), "a link means nothing outside rustdoc: {name}");
        }
    }
}
