//! The command `numasim`: reads the command line, carries out the verb, and reports an error in one
//! line.

#![forbid(unsafe_code)]

mod args;
mod verbs;

use args::{Args, Verb};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(problem) => return wrong(&problem),
    };
    let interrupted = numasim_lab::interrupted();
    let done = match &args.verb {
        Verb::Experiment(args) => verbs::experiment::run(args, &interrupted),
        Verb::Kernels(args) => verbs::kernels::run(args, &interrupted),
        Verb::Merge(args) => verbs::merge::run(args),
        Verb::Report(args) => verbs::merge::report(args),
        Verb::Machine(args) => verbs::machine::run(args),
        Verb::Boot(args) => verbs::boot::run(args, &interrupted),
        Verb::Laws(args) => verbs::laws::run(args, &interrupted),
        Verb::Doctor => verbs::doctor::run(),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("numasim: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Help is printed as it is. An error in the command line is printed in one line, like all other
/// errors.
fn wrong(problem: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as Nothing;
    if !problem.use_stderr() || problem.kind() == Nothing {
        problem.exit();
    }
    let text = problem.render().to_string();
    let said = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let said = numasim_lab::error::one_line(&said.collect::<Vec<_>>().join(" "));
    eprintln!("numasim: {}; see --help", said.trim_start_matches("error: "));
    ExitCode::from(2)
}
