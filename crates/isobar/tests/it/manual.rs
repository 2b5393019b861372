//! Manual pages and completions, read by the programs that use them.

use crate::support::isobar;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The verbs that the help lists.
fn verbs() -> BTreeSet<String> {
    let help = isobar(&["--help"]).done().to_owned();
    let list = help.split("Commands:\n").nth(1).unwrap();
    let names = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!("SKIPPED in part: no {program}");
    }
    there
}

#[test]
fn every_verb_has_a_manual_page_that_groff_formats_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    isobar(&["manual", &pages.display().to_string()]).done();
    let text = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    for verb in verbs() {
        let page = text(&format!("isobar-{verb}.1"));
        assert!(page.contains(".SH OPTIONS") && page.contains("Example:"), "{verb}: {page}");
        assert!(text("isobar.1").contains(&format!("isobar\\-{verb}(1)")), "isobar.1 does not name {verb}");
    }
    assert!(text("isobar-pages-apply.1").contains(".SH SYNOPSIS"), "verbs below a verb have theirs");
    assert!(text("isobar.1").contains("Policies with their settings"));
    assert!(!pages.join("isobar-manual.1").exists() && !verbs().contains("manual"), "for packagers only");
    if has("groff") {
        for page in fs::read_dir(&pages).unwrap() {
            warns_of_nothing(&page.unwrap().path());
        }
    }
}

fn warns_of_nothing(page: &Path) {
    let run = Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(page).output().unwrap();
    assert!(run.status.success() && run.stderr.is_empty(), "{}: {run:?}", page.display());
}

#[test]
fn a_folder_for_manual_pages_that_cannot_be_made_is_named() {
    isobar(&["manual", "/proc/no/such"]).failed(1, &["/proc/no/such"]);
}

/// What bash would offer after these words.
fn bash_offers(words: &[&str]) -> BTreeSet<String> {
    let script = isobar(&["completions", "bash"]).done().to_owned();
    let words = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let ask = format!(
        "{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         _isobar isobar \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let run = Command::new("bash").args(["--norc", "-c", &ask]).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    String::from_utf8(run.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn completions_offer_verbs_and_their_options() {
    if has("bash") {
        assert_eq!(bash_offers(&["isobar", "dae"]), BTreeSet::from(["daemon".to_owned()]));
        assert_eq!(bash_offers(&["isobar", "daemon", "--dry"]), BTreeSet::from(["--dry-run".to_owned()]));
        assert!(bash_offers(&["isobar", ""]).is_superset(&verbs()));
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = isobar(&["completions", shell]).done().to_owned();
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell}: {verb}");
        }
    }
    isobar(&["completions", "csh"]).refused(&["csh", "bash"]);
}
