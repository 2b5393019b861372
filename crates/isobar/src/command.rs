//! The command line: the verbs of the registry below one name, and what is said where something is
//! mistyped. It reads no file, checks nothing against a machine and acts on nothing.

use crate::failure;
use crate::verbs::{Entry, VERBS};
use clap::{ArgMatches, Command};
use isobar_runtime::policies;
use std::ffi::OsString;
use std::process::ExitCode;

const ABOUT: &str = "Evens out memory contention on NUMA machines: watches threads, caches and memory, \
                     explains what it sees, moves threads, pages and cache ways, and puts everything back";

fn command() -> Command {
    let (names, settings) = policies::described();
    Command::new("isobar")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .propagate_version(true)
        .max_term_width(110)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(format!("Policies (with their settings: isobar --help):\n{names}"))
        .after_long_help(format!("Policies with their settings (--set POLICY.KEY=VALUE):\n\n{settings}"))
        .subcommands(VERBS.iter().map(|verb| flowing((verb.command)())))
}

/// A verb whose help runs as wide as the terminal: lines of a paragraph become one, which clap
/// wraps; indented lines (examples, lists) stay as they are.
fn flowing(verb: Command) -> Command {
    let verb = verb.mut_subcommands(flowing);
    match verb.get_after_help().map(|help| joined(&help.to_string())) {
        Some(help) => verb.after_help(help),
        None => verb,
    }
}

fn joined(help: &str) -> String {
    let prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let (mut text, mut before) = (String::new(), None);
    for line in help.lines() {
        match before {
            None => {}
            Some(before) if prose(before) && prose(line) => text.push(' '),
            Some(_) => text.push('\n'),
        }
        text.push_str(line);
        before = Some(line);
    }
    text
}

/// Reads the command line: the verb and what was typed after it. What clap has to say about it is
/// already printed when this returns an exit code: help and version on stdout, a mistake in one
/// line on stderr.
pub fn parse() -> Result<(Entry, ArgMatches), ExitCode> {
    command().try_get_matches().map(verb).map_err(|error| {
        if error.use_stderr() && error.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            failure::tell(&one_line(&error.to_string(), verb_of(std::env::args_os().nth(1)).as_deref()));
        } else {
            drop(error.print());
        }
        ExitCode::from(if error.use_stderr() { 2 } else { 0 })
    })
}

/// The verb that was typed.
fn verb(mut typed: ArgMatches) -> (Entry, ArgMatches) {
    let (name, rest) = typed.remove_subcommand().unwrap_or_default();
    let position = command().get_subcommands().position(|verb| verb.get_name() == name);
    (VERBS[position.unwrap_or_default()], rest)
}

/// clap reports a mistake in paragraphs (what, tips, usage, "try --help"): joined, without the
/// usage.
fn one_line(report: &str, verb: Option<&str>) -> String {
    let report = report.strip_prefix("error: ").unwrap_or(report);
    let wanted = |line: &&str| !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more");
    let lines = report.lines().map(str::trim).filter(wanted);
    let line = lines.fold(String::new(), |line, next| match line.as_str() {
        "" => next.to_owned(),
        // What is missing follows a colon; a tip is a sentence of its own.
        before if before.ends_with(':') => format!("{before} {next}"),
        before => format!("{before}; {next}"),
    });
    let help = verb.map_or_else(|| "isobar --help".to_owned(), |verb| format!("isobar {verb} --help"));
    format!("{line} (see `{help}`)")
}

/// The verb that was typed, where there is such a one.
fn verb_of(typed: Option<OsString>) -> Option<String> {
    typed.and_then(|word| word.into_string().ok()).filter(|word| command().find_subcommand(word).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_holds_together_and_every_verb_has_an_example() {
        let whole = command();
        whole.clone().debug_assert();
        for verb in whole.get_subcommands() {
            let help = verb.get_after_help().unwrap_or_else(|| panic!("{} has no example", verb.get_name()));
            assert!(help.to_string().contains(&format!("isobar {}", verb.get_name())), "{help}");
        }
    }

    #[test]
    fn paragraphs_of_the_help_become_one_line_and_examples_stay() {
        let help = "Example:\n  isobar a\n\nOne\nparagraph.\n\nA list\n  x\nand more";
        assert_eq!(joined(help), "Example:\n  isobar a\n\nOne paragraph.\n\nA list\n  x\nand more");
    }

    fn said(words: &[&str]) -> String {
        let error = command().try_get_matches_from(words).unwrap_err();
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
