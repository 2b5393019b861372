//! `isobar run`: starts a command whose new pages follow a decision, or under a fixed placement.

mod child;
mod manager;
mod plan;
mod source;

use super::Verb;
use crate::deciders;
use crate::failure::{self, Ended, bad_input};
use crate::machines::launch;
use clap::ValueEnum;
use isobar_model::CpuSet;
use isobar_runtime::settings::Config;
use plan::Plan;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

/// Start a command whose new pages follow isobar's decisions, or that runs on given CPUs and nodes
#[derive(Debug, clap::Parser)]
#[command(
    name = "run",
    after_help = "Example:
  isobar run --policy cama -- ./solver input.dat
  isobar run --node 1 --cpus 8-15 -- ./solver input.dat
  isobar run --decision where.txt -- ./solver input.dat
  isobar run --explain --interleave 0,1 -- ./solver input.dat

A decision reaches the command in one of two ways. `shim` is a preloaded library. It works for each
process separately, without privileges, on every kernel. `weights` sets the machine's weights of
weighted interleave. It needs Linux 6.9 or later and root, and also works for statically linked and
set-uid commands; all programs that use weighted interleave share these weights. Without --by, the
first way that can be used is taken. docs/design/allocation.md says what each can do.

If `isobar manage` is running, its decisions are followed. Otherwise --policy starts a manager for
this command and all that it starts, which ends with the command.

The exit code is the command's, or 128 + N where signal N ended it; 127 if it was not found, 126 if
it cannot be executed."
)]
pub struct Run {
    /// Run the loop with this policy for the command, unless a manager runs already
    #[arg(long, value_name = "NAME", conflicts_with_all = ["node", "interleave", "decision"])]
    policy: Option<String>,
    /// Follow the decision in this file, which is read again whenever it changes: `free`, `node N`
    /// or `weights N:W,N:W`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["node", "interleave"])]
    decision: Option<PathBuf>,
    /// How decisions reach the command [default: the first way that can be used]
    #[arg(long, value_name = "WAY", conflicts_with_all = ["node", "interleave"])]
    by: Option<By>,
    /// The CPUs that the command may use, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Take memory only from these nodes, and run only on their CPUs unless --cpus names others
    #[arg(long, value_name = "N[,N]", conflicts_with = "interleave")]
    node: Option<CpuSet>,
    /// Take memory from these nodes in turn
    #[arg(long, value_name = "N,N")]
    interleave: Option<CpuSet>,
    /// Say what would be done and why, and do nothing
    #[arg(long)]
    explain: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// How a decision reaches the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// a preloaded library
    Shim,
    /// the machine's weights of weighted interleave
    Weights,
}

impl Verb for Run {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let program = match launch::examine(&self.command[0]) {
            Ok(program) => program,
            Err(error) => {
                failure::notify(&format!("{}: {error}", self.command[0].to_string_lossy()));
                return Err(Ended::of(launch::exit_code(&error)).into());
            }
        };
        if let Some(policy) = &self.policy {
            deciders::check(policy, &Config::default(), &|_| Err(io::ErrorKind::Unsupported.into()))?;
        }
        let plan = Plan::make(self, &program, &launch::here()?).map_err(bad_input)?;
        if self.explain {
            plan.lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            return Ok(());
        }
        Err(Ended::of(child::run(self, &plan)?).into())
    }
}
