//! `isobar pages PID --watch`: where the pages of a live process are.

use crate::verbs::options::within;
use std::io::Write;

/// How a process is watched.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// Follow a live process: its pages by node and by mapping, without tracing it
    #[arg(long)]
    pub watch: bool,
    /// Seconds between two looks at a process, 0.1 to 86400
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = interval, requires = "watch")]
    interval: f64,
    /// Look at a process this many times (else on a terminal until Ctrl-C, elsewhere once)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "watch")]
    count: Option<u64>,
}

fn interval(text: &str) -> Result<f64, String> {
    within(text, 0.1..=86_400.0, "seconds from 0.1 to 86400, such as 0.5 or 2")
}

/// Watches a process until it ends, or somebody ends this.
pub fn run(pid: u32, args: &WatchArgs, _json: bool, _out: &mut dyn Write) -> anyhow::Result<()> {
    let _ = (args.interval, args.count);
    anyhow::bail!("{pid}: cannot be watched yet")
}
