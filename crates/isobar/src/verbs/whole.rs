//! The whole command line: the verbs of the registry under one name, with and without the text that
//! follows the help. It does not look at what was typed.

use super::VERBS;
use clap::Command;
use isobar_runtime::policies;

const ABOUT: &str = "Reduces memory contention on NUMA machines: watches threads, caches and memory, \
                     explains what it sees, moves threads and pages, divides cache ways, and restores \
                     affinities and cache ways when it ends";

/// Everything that may be typed, without the help that takes long to compose: the list of policies,
/// and the wrapping of what follows the help of each verb.
pub fn bare() -> Command {
    Command::new("isobar")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .propagate_version(true)
        .max_term_width(110)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(VERBS.iter().map(|verb| (verb.command)()))
}

/// Everything that may be typed, with the whole help.
pub fn whole() -> Command {
    let names = policies::described();
    bare()
        .after_help(format!("Policies:\n{names}\nSettings: `isobar config --default`, or docs/policies.md"))
        .mut_subcommands(flowing)
}

/// The policies with their settings: too long for the help, so they are in the manual page.
pub fn settings() -> String {
    format!("Policies with their settings (--set POLICY.KEY=VALUE):\n\n{}", policies::described_with_settings())
}

/// Makes the help of a verb as wide as the terminal. The lines of a paragraph are joined, and clap
/// wraps the paragraph; indented lines (examples, lists) stay as they are.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_holds_together_and_every_verb_has_an_example() {
        let whole = whole();
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
}
