//! `isobar sim --list` and `isobar sim --describe NAME`: shows what ships with the simulator, and
//! how the simulator sees a user's own program.

use crate::catalogue::{self, facts, facts::Own};
use crate::failure::bad_input;
use crate::text::json_line;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Lists machines and programs.
///
/// # Errors
/// If the output cannot be written.
pub fn list(json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let all = facts::all()?;
    notify(json, out, "list", &all, || catalogue::list(&all))
}

/// Describes a machine or a program that ships, or one of a file: `FILE.toml`, `FILE.csv`,
/// `FILE.csv:NAME`.
///
/// # Errors
/// Bad input: nothing has this name, or a file is wrong.
pub fn describe(name: &str, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if let Some(found) = facts::machine(name)? {
        return notify(json, out, "machine", &found, || catalogue::machine(&found));
    }
    if let Some(found) = facts::program(name)? {
        return notify(json, out, "program", &found, || catalogue::program(&found));
    }
    let Some((file, program)) = own_file(name) else { return Err(unknown(name)?) };
    match facts::own(Path::new(file), program)? {
        Own::Machine(found) => notify(json, out, "machine", &found, || catalogue::machine(&found)),
        Own::Program(found) => notify(json, out, "program", &found, || catalogue::program(&found)),
    }
}

fn notify(
    json: bool,
    out: &mut dyn Write,
    kind: &str,
    facts: &impl Serialize,
    words: impl Fn() -> String,
) -> anyhow::Result<()> {
    if !json {
        return Ok(write!(out, "{}", words())?);
    }
    let mut document = serde_json::json!({ "kind": kind });
    if let (serde_json::Value::Object(all), serde_json::Value::Object(more)) =
        (&mut document, serde_json::to_value(facts)?)
    {
        all.extend(more);
    }
    Ok(writeln!(out, "{}", json_line(&document))?)
}

/// A file, and the name of the program in it that was asked for.
fn own_file(name: &str) -> Option<(&str, Option<&str>)> {
    let is_file = |path: &str| [".toml", ".csv"].iter().any(|end| path.to_ascii_lowercase().ends_with(end));
    if is_file(name) {
        return Some((name, None));
    }
    let (file, program) = name.rsplit_once(':')?;
    is_file(file).then_some((file, Some(program)))
}

fn unknown(name: &str) -> anyhow::Result<anyhow::Error> {
    let names = facts::names()?;
    // A longer name is similar to none of them.
    let comparable = names.iter().filter(|_| name.len() <= 100);
    let mut near: Vec<_> = comparable.map(|known| (strsim::levenshtein(name, known), known)).collect();
    near.sort();
    let limit = name.chars().count().max(3) / 2;
    let hint = near.first().filter(|(edits, _)| *edits <= limit).map(|(_, known)| format!("; did you mean `{known}`?"));
    Ok(bad_input(format!(
        "--describe {name}: no machine or program of that name{} `isobar sim --list` shows all that ship; a \
         file ends in .toml or .csv",
        hint.unwrap_or_else(|| ";".to_owned())
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_say_which_program() {
        assert_eq!(own_file("a/b.csv:mcf06"), Some(("a/b.csv", Some("mcf06"))));
        assert_eq!(own_file("a.TOML"), Some(("a.TOML", None)));
        assert_eq!((own_file("mcf"), own_file("node:2")), (None, None));
    }
}
