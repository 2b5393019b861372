//! `isobar decide`: reads observations and prints plans, one JSON document on each line. This is
//! the decision of a policy without side effects, for scripts and tests: it touches no machine. The
//! policy keeps its state from line to line, as it would from epoch to epoch.

use super::Verb;
use super::options::Sets;
use crate::deciders::{self, Place};
use crate::failure::bad_input;
use crate::input;
use crate::text::json_line;
use anyhow::Context;
use isobar_model::wire::{observation_from_json, plan_to_json};
use isobar_model::{Outcome, Plan, Policy, Topology};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The byte order mark that some editors put before the first line (RFC 8259, section 8.1, lets a
/// parser ignore it).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Read observations, one JSON document a line, and print one plan a line
#[derive(Debug, clap::Parser)]
#[command(
    name = "decide",
    after_help = "Example:
  isobar decide --policy dino --set dino.stray_percent=10 --dry-run \\
      observations.jsonl
  isobar manage --policy dino --dry-run --json --for 5 |
    jq -c '.observation // empty' | isobar decide --policy dino --dry-run -

isobar assumes that the caller carries out each plan, so a policy that measures what its changes bring looks for their
effect in the next observations. With --dry-run it assumes that no plan is carried out."
)]
pub struct Decide {
    /// The policy (`isobar --help` lists them), which keeps its state from line to line
    #[arg(long, value_name = "NAME")]
    policy: String,
    /// settings of policies
    #[command(flatten)]
    sets: Sets,
    /// The observations; - means standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// No plan is carried out, as for a file of recorded observations
    #[arg(long)]
    dry_run: bool,
    /// Accepted as by every verb; the output is always JSON
    #[arg(long)]
    json: bool,
}

impl Verb for Decide {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let config = self.sets.config()?;
        let mut policy = deciders::build(&self.policy, &config, &input::settings, Place::Apart)?;
        let (name, mut lines) = open(&self.file)?;
        let (mut line, mut machine) = (Vec::new(), None);
        for number in 1u64.. {
            let at = format!("{name}:{number}");
            if !read_line(lines.as_mut(), &mut line, &at)? {
                break;
            }
            let bare = if number == 1 { line.strip_prefix(BYTE_ORDER_MARK) } else { None }.unwrap_or(&line);
            let text = std::str::from_utf8(bare)
                .map_err(|error| bad_input(format!("{at}: document: {error}: expected UTF-8")))?;
            if !text.trim().is_empty() {
                let plan = decide(policy.as_mut(), text, &at, &mut machine, out)?;
                if !self.dry_run {
                    policy.applied(&plan, &Outcome::all_done(&plan));
                }
            }
        }
        Ok(())
    }
}

/// Reads the next line. Returns false at the end.
fn read_line(lines: &mut dyn BufRead, line: &mut Vec<u8>, at: &str) -> anyhow::Result<bool> {
    line.clear();
    let read =
        lines.take(input::OBSERVATION).read_until(b'\n', line).map_err(|error| bad_input(format!("{at}: {error}")))?;
    if u64::try_from(read) == Ok(input::OBSERVATION) && line.last() != Some(&b'\n') {
        return Err(bad_input(format!(
            "{at}: a line of more than {} MiB: expected one observation",
            input::OBSERVATION >> 20
        )));
    }
    Ok(read > 0)
}

/// Decides on one observation. `machine` is that of the observation before: policies keep what they
/// have learned about a machine for as long as it is the same.
fn decide(
    policy: &mut dyn Policy,
    text: &str,
    at: &str,
    machine: &mut Option<Arc<Topology>>,
    out: &mut dyn Write,
) -> anyhow::Result<Plan> {
    let mut seen = observation_from_json(text).map_err(|error| bad_input(format!("{at}: {error}")))?;
    if let Some(same) = machine.take().filter(|before| *before == seen.machine) {
        seen.machine = same;
    }
    *machine = Some(Arc::clone(&seen.machine));
    let plan = isobar_runtime::decide(policy, &seen).with_context(|| at.to_owned())?;
    writeln!(out, "{}", json_line(&plan_to_json(&plan)))?;
    out.flush()?;
    Ok(plan)
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
