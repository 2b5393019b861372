//! The command `numasim`: reads the command line, does the verb, says what went wrong in one line.

#![forbid(unsafe_code)]

mod args;
mod verbs;

use args::{Args, Verb};
use clap::Parser;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn main() -> ExitCode {
    let args = Args::parse();
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // A second one ends us at once; the guests die with us.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted));
        let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
    }
    let done = match &args.verb {
        Verb::Experiment(args) => verbs::experiment::run(args, &interrupted),
        Verb::Machine(args) => verbs::machine::run(args),
        Verb::Boot(args) => verbs::boot::run(args, &interrupted),
        Verb::Laws(args) => verbs::laws::run(args, &interrupted),
        Verb::Doctor => verbs::doctor::run(),
        Verb::Xval(args) => verbs::xval::run(args, &interrupted),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("numasim: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
