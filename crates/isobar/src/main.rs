//! The `isobar` command: what was typed becomes one verb, the verb becomes an exit code.
//!
//! It knows the verbs and how a run ends (0 done, 1 failed while running, 2 wrong usage or bad input; one line on stderr).
//! It decides nothing about placement: policies live in `isobar-policy`, machines in `isobar-linux` and `isobar-sim`, and
//! each of them is reached through one file under `adapt/`.

#![forbid(unsafe_code)]

mod adapt;
mod args;
mod catalogue;
mod failure;
mod on_purpose;
mod output;
mod progress;
mod report;
mod signals;
mod terminal;
mod text;
mod topo;
mod verbs;

use args::{Args, Verb};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = adapt::linux::give_up_what_is_not_the_callers() {
        return failure::exit_code(Err(error));
    }
    let args = match args::parse(&isobar_runtime::policies::described(), &adapt::study::described()) {
        Ok(args) => args,
        Err(code) => return code,
    };
    failure::silence_panics();
    let mut out = io::stdout().lock();
    let done = run(args, &mut out).and_then(|()| Ok(out.flush()?));
    failure::exit_code(done)
}

fn run(args: Args, out: &mut dyn Write) -> anyhow::Result<()> {
    match args.verb {
        Verb::Topo(args) => verbs::topo::run(&args, out),
        Verb::Decide(args) => verbs::decide::run(&args, out),
        Verb::Manage(args) => verbs::manage::run(&args),
        Verb::Explain(args) => verbs::explain::run(&args),
        Verb::Restore(args) => verbs::restore::run(&args, out),
        Verb::Sim(args) => verbs::sim::run(&args, out),
        Verb::Reproduce(args) => verbs::reproduce::run(&args, out),
        Verb::Study(args) => verbs::study::run(&args, out),
    }
}
