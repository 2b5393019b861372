//! The `isobar` command: parses the command line into one verb, runs it, and turns its result into
//! an exit code.
//!
//! It knows how a run begins and ends (0 done, 1 failed while running, 2 wrong usage or bad input;
//! one line on stderr). It decides nothing about placement: policies live in `isobar-policy`,
//! machines in `isobar-linux` and `isobar-sim`, and the loop that joins them in `isobar-runtime`.

#![forbid(unsafe_code)]

mod catalogue;
mod command;
mod daemon;
mod deciders;
mod export;
mod failure;
mod input;
mod machines;
mod metrics;
mod moment;
mod on_purpose;
mod output;
mod past;
mod progress;
mod record;
mod report;
mod signals;
mod terminal;
mod text;
mod top;
mod topo;
mod usage;
mod verbs;

use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = machines::linux::give_up_what_is_not_the_callers() {
        return failure::exit_code(Err(error));
    }
    let (verb, typed) = match command::parse() {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    failure::silence_panics();
    let mut out = io::stdout().lock();
    let done = (verb.run)(&typed, &mut out).and_then(|()| Ok(out.flush()?));
    failure::exit_code(done)
}
