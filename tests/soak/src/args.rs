//! The command line.

use crate::kinds::Kind;
use clap::Parser;
use std::path::PathBuf;

/// Ends `isobar manage` again and again, in every way there is, while the managed processes come
/// and go; after each end every thread must be as it was, or as its owner wanted it, or be named by
/// isobar as left over.
#[derive(Debug, Parser)]
#[command(name = "isobar-soak", version)]
pub struct Args {
    /// The isobar under test
    #[arg(long, value_name = "PATH", default_value = "isobar")]
    pub isobar: PathBuf,
    /// The processes that it manages (programs/churn.c, compiled); else `churn` beside this program
    #[arg(long, value_name = "PATH")]
    pub churn: Option<PathBuf>,
    /// Ends
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub ends: u32,
    /// Number of the first end: `--first 17 --ends 1` repeats the seventeenth of a seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub first: u32,
    /// Seed of everything that is random
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Only these kinds of ends
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub only: Vec<Kind>,
    /// Seconds that isobar may take to end
    #[arg(long, value_name = "S", default_value_t = 30)]
    pub limit: u64,
    /// Seconds in which isobar may come to bind a thread, before it is ended all the same
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub wait: u64,
    /// Keep the folder with the state files and the owners' wishes
    #[arg(long)]
    pub keep: bool,
}
