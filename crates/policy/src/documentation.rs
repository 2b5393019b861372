//! Prints the documentation of policies and their settings, made from their entries: the help text,
//! the example configuration, and the page `docs/policies.md`. This file knows how each is laid
//! out. What a setting means is said where it is declared.

use crate::entry::{Entry, Moves};
use crate::registry::entries;
use crate::settings::Setting;

/// Width of text that is written to files, in characters.
const FILE: usize = 100;
/// Width of text that is written to terminals, in characters.
const TERMINAL: usize = 80;

/// A setting, and the earlier policy that has the same setting, if there is one.
type Row = (Setting, Option<&'static str>);

/// Every policy with its settings.
fn rows() -> Vec<(&'static Entry, Vec<Row>)> {
    let mut first: Vec<(&'static str, &'static str)> = Vec::new();
    let mut row = |entry: &'static Entry, setting: Setting| {
        let before = first.iter().find(|(meaning, _)| *meaning == setting.meaning).map(|(_, name)| *name);
        if before.is_none() {
            first.push((setting.meaning, entry.name));
        }
        (setting, before)
    };
    let all = |entry: &'static Entry| (entry, entry.settings().into_iter().map(|it| row(entry, it)).collect());
    entries().iter().map(all).collect()
}

/// Every policy with what it decides, one per line.
#[must_use]
pub fn names() -> String {
    let width = entries().iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let line = |entry: &Entry| format!("  {:<width$}  {}", entry.name, entry.summary);
    entries().iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Every policy with what it decides and its settings, for the long help.
#[must_use]
pub fn help() -> String {
    let setting = |entry: &Entry, (Setting { key, meaning, default }, before): Row| {
        let meaning = before.map_or_else(|| meaning.to_owned(), |before| format!("as for {before}"));
        format!("    {}.{key}={default}\n{}", entry.name, wrapped("        ", "        ", &meaning, TERMINAL))
    };
    let policy = |(entry, rows): (&'static Entry, Vec<Row>)| {
        let settings: String = rows.into_iter().map(|row| setting(entry, row)).collect();
        format!("  {}: {}\n{settings}", entry.name, entry.summary)
    };
    rows().into_iter().map(policy).collect::<Vec<_>>().join("\n")
}

/// The sections of all policies for the example configuration: every key with its meaning and
/// default.
#[must_use]
pub fn example() -> String {
    let setting = |(Setting { key, meaning, default }, before): Row| match before {
        Some(before) => format!("{key} = {default}  # as for {before}\n"),
        None => format!("{}{key} = {default}\n", wrapped("# ", "# ", meaning, FILE)),
    };
    let section = |(entry, rows): (&'static Entry, Vec<Row>)| {
        let settings: String = rows.into_iter().map(setting).collect();
        let name = if entry.name.contains('+') { format!("{:?}", entry.name) } else { entry.name.to_owned() };
        let none = if settings.is_empty() { "# It has no settings.\n" } else { "" };
        format!("\n{}[{name}]\n{none}{settings}", wrapped("# ", "# ", &sentence(entry.summary), FILE))
    };
    rows().into_iter().map(section).collect()
}

/// The page of all policies and their settings, in Markdown.
#[must_use]
pub fn page() -> String {
    let head = "# The policies and their settings\n\nThis page is made from the code. Every setting is a key \
                of its policy's section in the configuration file ([example](../examples/isobar.toml)), or \
                is given as `--set POLICY.KEY=VALUE`. An epoch or interval is one decision. Sections in \
                parentheses are those of the paper.\n";
    let text: String = head.split("\n\n").map(|part| wrapped("", "", part, FILE)).collect::<Vec<_>>().join("\n");
    rows().into_iter().fold(text, |text, (entry, rows)| text + &chapter(entry, &rows))
}

fn chapter(entry: &Entry, rows: &[Row]) -> String {
    let moves = match entry.moves {
        Moves::Nothing => "nothing",
        Moves::Threads => "threads",
        Moves::ThreadsAndPages => "threads and pages",
        Moves::Pages => "pages",
        Moves::NewPages => "new pages",
    };
    let needs: Vec<String> = entry.needs.iter().map(ToString::to_string).collect();
    let needs = if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") };
    let item = |text: &str| wrapped("- ", "  ", text, FILE);
    let mut text = format!("\n## `{}`\n\n{}\n", entry.name, wrapped("", "", &sentence(entry.summary), FILE));
    text += &item(&format!("Paper: {}.", entry.paper));
    text += &item(&format!("Moves {moves}; needs {needs}."));
    text += if rows.is_empty() { "\nIt has no settings.\n" } else { "\nSettings with their defaults:\n\n" };
    // Consecutive keys that the same earlier policy has explained are one item.
    for together in rows.chunk_by(|(_, a), (_, b)| a.is_some() && a == b) {
        let keys: Vec<_> = together.iter().map(|(it, _)| format!("`{} = {}`", it.key, it.default)).collect();
        let meaning = match together {
            [(_, Some(before)), ..] => format!("as for `{before}`"),
            [(setting, None), ..] => setting.meaning.to_owned(),
            [] => String::new(),
        };
        text += &item(&format!("{}: {meaning}", keys.join(", ")));
    }
    text
}

/// Turns a phrase into a sentence.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>() + "."
}

/// Breaks a text into lines of at most `width` characters; a longer word gets a line of its own.
fn wrapped(first: &str, others: &str, text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            lines += line.trim_end();
            lines.push('\n');
            line = others.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    lines + line.trim_end() + "\n"
}
