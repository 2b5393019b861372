//! `isobar sim`: policies compared on a simulated machine.

use super::shipped;
use crate::adapt::sim::{self, Wanted};
use crate::args::SimArgs;
use crate::failure::bad_input;
use crate::progress::Progress;
use crate::text::json_line;
use isobar_runtime::settings::Config;
use std::io::Write;
use std::path::Path;

/// Runs the workload under every policy and prints the comparison.
///
/// # Errors
/// Bad input: the workload, a policy, a setting.
pub fn run(args: &SimArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    match (&args.workload, &args.describe) {
        (_, Some(name)) => shipped::describe(name, args.json, out),
        (Some(workload), None) => compare(workload, args, out),
        (None, None) => shipped::list(args.json, out),
    }
}

fn compare(workload: &Path, args: &SimArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let config = Config::of_policies(&args.set).map_err(bad_input)?;
    let wanted = Wanted {
        seed: args.seed,
        repeat: args.repeat,
        schedules: args.schedules,
        optimum: args.optimum,
        jobs: super::jobs(args.jobs),
    };
    let progress = Progress::new();
    let compared = sim::compare(workload, &args.policy, &config, &wanted, &|done, all| progress.tell(done, all));
    progress.end();
    let compared = compared?;
    if args.json {
        writeln!(out, "{}", json_line(&compared.json))?;
    } else {
        write!(out, "{}", compared.text)?;
    }
    Ok(())
}
