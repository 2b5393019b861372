//! `isobar decide`: observations in, plans out, one JSON document a line. The pure heart of the program, for scripts and
//! tests: it touches no machine, and the policy remembers from line to line as it would from epoch to epoch.

use crate::adapt::policy;
use crate::args::DecideArgs;
use crate::config::Config;
use crate::failure::bad_input;
use crate::harness;
use crate::text::json_line;
use anyhow::Context;
use isobar_model::Policy;
use isobar_model::wire::{observation_from_json, plan_to_json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// Decides on every line of the file; each plan is written before the next line is read.
///
/// # Errors
/// Bad input, as `FILE:LINE: key: what is wrong`; a policy whose plan cannot be carried out is an internal error.
pub fn run(args: &DecideArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let config = Config::load(None, &args.set)?;
    let mut policy = policy::build(&args.policy, &config)?;
    let (name, mut lines) = open(&args.file)?;
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(|error| bad_input(format!("{name}:{number}: {error}")))? == 0 {
            break;
        }
        let at = format!("{name}:{number}");
        let text = std::str::from_utf8(&line)
            .map_err(|error| bad_input(format!("{at}: document: {error}: expected UTF-8")))?;
        if !text.trim().is_empty() {
            decide(policy.as_mut(), text, &at, out)?;
        }
    }
    Ok(())
}

fn decide(policy: &mut dyn Policy, text: &str, at: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let seen = observation_from_json(text).map_err(|error| bad_input(format!("{at}: {error}")))?;
    let plan = harness::decide(policy, &seen).with_context(|| at.to_owned())?;
    writeln!(out, "{}", json_line(&plan_to_json(&plan)))?;
    Ok(out.flush()?)
}

fn open(file: &Path) -> anyhow::Result<(String, Box<dyn BufRead>)> {
    if file.as_os_str() == "-" {
        return Ok(("-".to_owned(), Box::new(io::stdin().lock())));
    }
    let name = file.display().to_string();
    let unreadable = |error: io::Error| bad_input(format!("{name}: cannot be read: {error}: expected JSON lines"));
    let opened = File::open(file).map_err(unreadable)?;
    Ok((name, Box::new(BufReader::new(opened))))
}
