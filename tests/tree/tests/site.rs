//! The documentation as a site: every page is in the table of contents, every policy has a page
//! with the same parts, and the messages on the troubleshooting page are those of the program.

#![allow(clippy::unwrap_used, clippy::panic)]

use isobar_tree::crates::root;
use std::fs;
use std::path::{Path, PathBuf};

/// Files with this ending below a folder.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files(&path, ending) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|it| it == ending)).collect()
}

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

#[test]
fn the_table_of_contents_has_every_page() {
    let (summary, docs) = (text("docs/SUMMARY.md"), root().join("docs"));
    let pages = files(&docs, "md").into_iter().map(|page| page.strip_prefix(&docs).unwrap().display().to_string());
    let missing: Vec<String> =
        pages.filter(|page| page != "SUMMARY.md" && !summary.contains(&format!("({page})"))).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not link {missing:?}");
}

/// Converts `dino+lfoc+` to `dino-lfoc-plus`.
fn file_name(policy: &str) -> String {
    let end = if policy.ends_with('+') { "-plus" } else { "" };
    policy.trim_end_matches('+').to_lowercase().replace('+', "-") + end
}

#[test]
fn every_policy_has_a_page_with_the_same_parts() {
    let settings = text("docs/policies.md");
    let names = settings.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'));
    let mut seen = 0;
    for name in names {
        seen += 1;
        let page = text(&format!("docs/policy/{}.md", file_name(name)));
        for part in
            [&format!("# `{name}`"), "## Good for", "## When it hurts", "## Paper", "## Measured", "## Settings"]
        {
            assert!(page.lines().any(|line| line == part), "the page of {name} has no `{part}`");
        }
    }
    assert!(seen > 15, "{seen}");
}

/// String literals of the sources as they are printed: each in one line, without the backslashes
/// that continue them.
fn printed() -> String {
    let mut sources = files(&root().join("crates"), "rs");
    sources.retain(|file| !file.to_string_lossy().contains("/tests/"));
    let text: String = sources.iter().map(|file| fs::read_to_string(file).unwrap().replace("\\\n", " ")).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The messages on the page: its code blocks, each in one line.
fn messages(page: &str) -> Vec<String> {
    let blocks = page.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|block| block.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn troubleshooting_has_the_messages_of_the_program() {
    let (page, printed) = (text("docs/troubleshooting.md"), printed());
    let messages = messages(&page);
    assert!(messages.len() > 20, "{}", messages.len());
    let mut wrong = Vec::new();
    for message in &messages {
        let parts = message.split("...").map(str::trim).filter(|part| part.len() > 3);
        wrong.extend(parts.filter(|part| !printed.contains(part)).map(|part| format!("`{part}` of `{message}`")));
    }
    assert!(wrong.is_empty(), "the program prints no such message:\n{}", wrong.join("\n"));
}
