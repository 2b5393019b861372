//! The command `numasim`: reads the command line, does the verb, says what went wrong in one line.

#![forbid(unsafe_code)]

mod args;
mod verbs;

use args::{Args, Verb};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    let interrupted = numasim_lab::interrupted();
    let done = match &args.verb {
        Verb::Experiment(args) => verbs::experiment::run(args, &interrupted),
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
