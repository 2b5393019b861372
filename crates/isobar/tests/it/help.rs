//! Every verb has help.

use crate::support::{command, isobar, policies, said};
use crate::verb_pages::listed;

#[test]
fn every_verb_has_help_with_an_example() {
    let (help, brief) = (isobar(&["--help"]).done().to_owned(), isobar(&["-h"]).done().to_owned());
    let verbs = listed(&help);
    assert!(verbs.len() > 20, "{verbs:?}");
    // The verb for packagers is in no list.
    for verb in verbs.into_iter().chain(["manual"]) {
        let said = isobar(&[verb, "--help"]);
        let help = said.done();
        let example = help.split("Example:\n  ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default();
        assert!(example.contains(&format!("isobar {verb}")), "{help}");
    }
    for policy in policies() {
        assert!(help.contains(&format!("\n  {policy} ")), "{help}");
        assert!(brief.contains(&format!("\n  {policy} ")), "{brief}");
    }
    assert!(isobar(&["--version"]).done().starts_with("isobar 0."));
    assert_eq!(isobar(&[]).code, Some(2));
}

/// Runs the examples that need nothing but the files of the repository.
#[test]
fn examples_of_the_help_work_as_they_stand() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut ran = 0;
    for verb in ["manage", "explain", "top", "sim", "study", "pages"] {
        // A backslash continues an example on the next line.
        let help = isobar(&[verb, "--help"]).done().replace(" \\\n     ", "");
        let own = help.lines().filter_map(|line| line.strip_prefix("  isobar ")).filter(|line| {
            let whole =
                ["workloads/", "study/", "pages/"].iter().any(|part| line.contains(&format!("examples/{part}")));
            // The screen needs a terminal.
            whole && (verb != "top" || line.contains("--once"))
        });
        for line in own {
            let args: Vec<&str> = line.split(' ').collect();
            let done = said(&command(&args).current_dir(root).output().unwrap());
            assert!(done.done().lines().count() > 10, "{line}: {}", done.out);
            ran += 1;
        }
    }
    assert!(ran >= 4, "{ran}");
}
