//! Tests `isobar reproduce`.

use crate::support::{file, isobar};
use serde_json::Value;
use std::collections::BTreeSet;

/// The figures in the table change with the model. The claims, columns and rows do not.
#[test]
fn the_table_has_its_shape_and_the_figures_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let figures = folder.path().join("a/figures");
    let run = isobar(&["reproduce", "nmass", "--quick", "--figures", figures.to_str().unwrap()]);
    let table = run.done();
    assert!(table.lines().all(|line| line.chars().count() <= 110 || line.contains("figures are in")), "{table}");
    let shape: Vec<String> = table.lines().filter_map(shape).collect();
    insta::assert_snapshot!("reproduce-nmass", shape.join("\n"));
    let written: BTreeSet<_> =
        std::fs::read_dir(&figures).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(written.contains("nmass-figure-5.svg") && written.contains("nmass-figure-12.svg"), "{written:?}");
    assert!(table.contains(&format!("{} figures are in", written.len())), "{table}");
}

/// The ids, labels and headings of a line, without the measured figures.
fn shape(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let first = *words.first()?;
    let label = line.starts_with("          ") && !line.starts_with("           ");
    match first {
        _ if line.starts_with("claim") => Some(line.to_owned()),
        _ if label => Some(format!("  {first}")),
        id if id.starts_with("nmass-") => {
            assert!(words[1..3].iter().all(|verdict| ["yes", "no", "-"].contains(verdict)), "{line}");
            Some(id.to_owned())
        }
        _ => None,
    }
}

#[test]
fn the_document_has_every_claim_and_the_same_seed_gives_the_same_bytes() {
    let args = ["reproduce", "nmass", "--quick", "--json", "--seed", "5", "--jobs"];
    let one = isobar(&[&args[..], &["1"]].concat()).done().to_owned();
    assert_eq!(one, isobar(&[&args[..], &["2"]].concat()).done());
    let document: Value = serde_json::from_str(&one).unwrap();
    assert_eq!((document["seed"].as_u64(), document["quick"].as_bool()), (Some(5), Some(true)));
    let paper = &document["papers"][0];
    assert_eq!(paper["paper"], "nmass");
    let claims = paper["claims"].as_array().unwrap();
    let ids: Vec<_> = claims.iter().map(|claim| claim["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["nmass-1", "nmass-2", "nmass-3", "nmass-4", "nmass-5"]);
    for claim in claims {
        assert!(["agrees", "differs", "not_printed"].contains(&claim["sign"].as_str().unwrap()), "{claim}");
        assert!(["agrees", "differs", "not_printed"].contains(&claim["size"].as_str().unwrap()), "{claim}");
        assert!(["claim", "paper", "ours", "band"].iter().all(|key| !claim[key].as_str().unwrap().is_empty()));
    }
    assert!(paper["figures"].as_array().unwrap().iter().all(|figure| figure["file"].is_string()));
}

#[test]
fn bad_input_gets_one_line() {
    isobar(&["reproduce", "namss"]).refused(&["'namss'", "[possible values: nmass, ", "isobar reproduce --help"]);
    isobar(&["reproduce", "--jobs", "0"]).refused(&["--jobs"]);
    isobar(&["reproduce", "--seed", "x"]).refused(&["--seed", "whole number"]);
    let (_folder, taken) = file("taken", "");
    isobar(&["reproduce", "nmass", "--figures", &taken]).refused(&["--figures", &taken, "expected a folder"]);
}

/// Which claims flip changes with the model. It does not change that every claim has an answer at
/// both ends of every kind of estimate.
#[test]
fn sensitivity_tells_every_claim_at_both_ends_of_every_estimate() {
    let document = isobar(&["reproduce", "nmass", "--quick", "--sensitivity", "--json"]).document();
    let seen = &document["sensitivity"];
    let kinds: Vec<_> = seen["estimates"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert!(kinds.contains(&"node rates".into()) && kinds.contains(&"link rates".into()), "{kinds:?}");
    for claim in seen["claims"].as_array().unwrap() {
        let ends = claim["ends"].as_array().unwrap();
        assert_eq!(ends.iter().map(|ends| ends["estimate"].clone()).collect::<Vec<_>>(), kinds);
        let given = &claim["given"]["sign"];
        let flips = ends.iter().any(|ends| &ends["low"]["sign"] != given || &ends["high"]["sign"] != given);
        let standing = match given.as_str().unwrap() {
            "not_printed" => "not_printed",
            _ if flips => "open",
            "agrees" => "reproduced",
            _ => "not_reproduced",
        };
        assert_eq!(claim["standing"], standing, "{claim}");
    }
    isobar(&["reproduce", "camm", "--sensitivity"]).refused(&["--sensitivity", "nmass, dino or dc"]);
}
