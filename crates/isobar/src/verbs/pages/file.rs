//! `isobar pages FILE`: the report.

use super::options::Placed;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What of a file's report is wanted.
#[derive(Debug, clap::Args)]
pub struct FileArgs {
    /// Also show `mixed` at every exclusivity from 0 to 100 %, in steps of 5
    #[arg(long, conflicts_with = "watch")]
    sweep_min_excl: bool,
    /// Draw figures as SVG into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "watch")]
    plot: Option<PathBuf>,
}

/// Reads the file and reports on it.
pub fn run(path: &Path, _placed: &Placed, args: &FileArgs, _json: bool, _out: &mut dyn Write) -> anyhow::Result<()> {
    let _ = (args.sweep_min_excl, &args.plot);
    anyhow::bail!("{}: cannot be read yet", path.display())
}
