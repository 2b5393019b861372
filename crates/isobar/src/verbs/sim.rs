//! `isobar sim`: policies compared on a simulated machine.

use crate::adapt::sim;
use crate::args::SimArgs;
use crate::config::Config;
use crate::text::json_line;
use std::io::Write;

/// Runs the workload under every policy and prints the comparison.
///
/// # Errors
/// Bad input: the workload, a policy, a setting.
pub fn run(args: &SimArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let config = Config::of_policies(&args.set)?;
    let compared = sim::compare(&args.workload, &args.policy, &config, args.seed, args.repeat)?;
    if args.json {
        writeln!(out, "{}", json_line(&compared.json))?;
    } else {
        write!(out, "{}", compared.text)?;
    }
    Ok(())
}
