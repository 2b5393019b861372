//! `isobar daemon`: `manage` as a service, with a configuration and a control socket.

mod commander;
mod recordings;
mod reload;
mod run;
mod standing;

use super::Verb;
use super::options::speed;
use super::watch::{WatchArgs, policy_or};
use crate::failure::bad_input;
use std::io::Write;
use std::path::PathBuf;

/// The policy if the configuration names none: it changes nothing.
pub const WATCHING: &str = "linux";

/// Manage this machine as a service, with a configuration and a control socket
#[derive(Debug, clap::Parser)]
#[command(
    name = "daemon",
    mut_arg("policy", |policy| policy.help(policy_or("linux, which changes nothing"))),
    mut_arg("json", |json| json.hide(true)), // refused: a daemon prints no documents
    after_help = "Example:
  isobar daemon
  isobar daemon --config examples/isobar.toml --policy isobar --dry-run
  isobar daemon --machine sim:examples/workloads/dino-spec.toml \\
      --policy isobar --speed 10 --socket /tmp/isobar.sock

The daemon reads /etc/isobar/isobar.toml if that exists and --config names no other file; `isobar config --default` prints a
configuration. Without a policy it watches and changes nothing. On SIGHUP it reads the configuration again; a bad one changes
nothing and is reported. `isobar status`, `pause`, `resume` and `undo` talk to the daemon. Every other signal that can be caught
ends it in order, with affinities and cache ways restored. Under systemd it logs to the journal with fields (journalctl
ISOBAR_ACTION_ID=12). docs/daemon.md explains the rest."
)]
pub struct Daemon {
    /// what to watch and how
    #[command(flatten)]
    watch: WatchArgs,
    /// Decide and log, but change nothing
    #[arg(long)]
    dry_run: bool,
    /// The control socket, instead of `daemon.socket` of the configuration
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// Seconds of a simulated machine that pass in one second, 0.01 to 10000
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = speed, requires = "machine")]
    speed: f64,
}

impl Verb for Daemon {
    fn run(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        if self.watch.json {
            return Err(bad_input("--json: a daemon prints no documents: `isobar status --json` asks it for one"));
        }
        run::run(self)
    }
}
