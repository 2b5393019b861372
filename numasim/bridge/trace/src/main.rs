//! `numasim-trace`: converts the page trace that `numasim boot --page-trace` left to a trace of
//! isobar. numasim knows nothing of isobar, and isobar nothing of numasim; this program knows both
//! files.
//!
//! ```text
//! space     regions, from the command's maps
//! convert   accesses, from the plugin's lines
//! ```

#![forbid(unsafe_code)]

mod convert;
mod space;

use anyhow::Context;
use clap::Parser;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Make a trace for `isobar pages` out of a page trace of numasim
#[derive(Debug, Parser)]
#[command(
    name = "numasim-trace",
    version,
    after_help = "Example:
  numasim boot nehalem-2x4 --page-trace cg.pages -- cg --threads 8 --each-on 0-7
  numasim-trace cg.pages -o cg.trace
  isobar pages cg.trace --nodes 2

Rows are of CPUs: where each thread is bound to one, its number is that of the CPU. Exit code: 0 done, 1 wrong input."
)]
struct Args {
    /// What `numasim boot --page-trace` wrote
    file: PathBuf,
    /// The trace
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Count the accesses that memory had to answer, and no others
    #[arg(long)]
    misses: bool,
    /// Count from this second of guest time on: without a set-up
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    after: f64,
    /// Count up to this second
    #[arg(long, value_name = "S")]
    until: Option<f64>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("numasim-trace: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let named = |path: &PathBuf| path.display().to_string();
    let from = File::open(&args.file).with_context(|| named(&args.file))?;
    let to = File::create(&args.output).with_context(|| named(&args.output))?;
    let of = if args.misses { convert::Of::Misses } else { convert::Of::Accesses };
    let seconds = |word, seconds| Duration::try_from_secs_f64(seconds).context(word);
    let until = args.until.map_or(Ok(Duration::MAX), |until| seconds("--until", until))?;
    let counted = seconds("--after", args.after)?..until;
    convert::convert(BufReader::new(from), BufWriter::new(to), of, &counted).with_context(|| named(&args.file))
}
