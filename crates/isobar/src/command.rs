//! Parses the command line into a verb of the registry, and reports mistyped input. It reads no
//! file, checks nothing against a machine and changes nothing.

use crate::failure;
use crate::verbs::{Entry, VERBS, bare, whole};
use clap::error::ErrorKind;
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::process::ExitCode;

/// Reads the command line: the verb and what was typed after it. If this returns an exit code,
/// clap's message is already printed: help and version on stdout, a mistake in one line on stderr.
pub fn parse() -> Result<(Entry, ArgMatches), ExitCode> {
    // Help is composed only for those who ask for it.
    let mut known = bare();
    let typed = known
        .try_get_matches_from_mut(std::env::args_os())
        .or_else(|error| if is_help(&error) { whole().try_get_matches() } else { Err(error) });
    typed.map(|typed| verb(&known, typed)).map_err(|error| {
        if error.use_stderr() && !is_help(&error) {
            failure::notify(&one_line(&error.to_string(), verb_of(std::env::args_os().nth(1)).as_deref()));
        } else {
            drop(error.print());
        }
        ExitCode::from(if error.use_stderr() { 2 } else { 0 })
    })
}

/// Whether this is help: asked for, or shown because nothing was typed.
fn is_help(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand)
}

/// The verb that was typed.
fn verb(known: &Command, mut typed: ArgMatches) -> (Entry, ArgMatches) {
    let (name, rest) = typed.remove_subcommand().unwrap_or_default();
    let position = known.get_subcommands().position(|verb| verb.get_name() == name);
    (VERBS[position.unwrap_or_default()], rest)
}

/// Joins clap's report of a mistake, which is several paragraphs (what is wrong, tips, usage, "try
/// --help"), into one line without the usage.
fn one_line(report: &str, verb: Option<&str>) -> String {
    let report = report.strip_prefix("error: ").unwrap_or(report);
    let wanted = |line: &&str| !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more");
    let lines = report.lines().map(str::trim).filter(wanted);
    let line = lines.fold(String::new(), |line, next| match line.as_str() {
        "" => next.to_owned(),
        // What is missing follows a colon; a tip is a separate sentence.
        before if before.ends_with(':') => format!("{before} {next}"),
        before => format!("{before}; {next}"),
    });
    let help = verb.map_or_else(|| "isobar --help".to_owned(), |verb| format!("isobar {verb} --help"));
    format!("{line} (see `{help}`)")
}

/// The verb that was typed, if there is a verb of that name.
fn verb_of(typed: Option<OsString>) -> Option<String> {
    typed.and_then(|word| word.into_string().ok()).filter(|word| bare().find_subcommand(word).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> String {
        let error = bare().try_get_matches_from(words).unwrap_err();
        one_line(&error.to_string(), verb_of(words.get(1).map(|word| OsString::from(*word))).as_deref())
    }

    #[test]
    fn mistakes_become_one_line() {
        let help = "(see `isobar manage --help`)";
        assert_eq!(
            said(&["isobar", "topo", "--rot", "x"]),
            "unexpected argument '--rot' found; tip: a similar argument exists: '--root' (see `isobar topo --help`)"
        );
        let line = said(&["isobar", "manage", "--for", "-3"]);
        assert!(!line.contains('\n') && line.ends_with(help), "{line}");
        let both = said(&["isobar", "manage", "--quiet", "--json"]);
        assert!(both.starts_with("the argument '--quiet' cannot be used with '--json'"), "{both}");
        assert!(said(&["isobar", "paint"]).ends_with("(see `isobar --help`)"));
        assert_eq!(
            said(&["isobar", "decide"]),
            "the following required arguments were not provided: --policy <NAME>; <FILE|-> (see `isobar decide --help`)"
        );
    }
}
