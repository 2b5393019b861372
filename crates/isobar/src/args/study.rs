//! What was typed after `isobar study`.

use super::{megabytes, positive_seconds};
use std::path::PathBuf;

/// `isobar study`
#[derive(Debug, clap::Args)]
pub struct StudyArgs {
    /// The programs: a measured table (.csv), curves (.toml, .json), observations (.jsonl), or machine:NAME for those of the
    /// simulator on a machine that ships
    #[arg(long, value_name = "FILE|machine:NAME", required_unless_present = "count")]
    pub profiles: Option<String>,
    /// The workloads; else those of --solution
    #[arg(long, value_name = "FILE", required_unless_present_any = ["count", "solution"])]
    pub workloads: Option<PathBuf>,
    /// The algorithms, listed below; `all` stands for all that apply
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', required_unless_present = "count")]
    pub algorithm: Vec<String>,
    /// Solutions to evaluate, for --algorithm fixed
    #[arg(long, value_name = "FILE")]
    pub solution: Option<PathBuf>,
    /// How programs slow each other down: queueing, pbbcache-simple or pbbcache-stalls
    #[arg(long, value_name = "NAME", default_value = "queueing")]
    pub model: String,
    /// Memory bandwidth of each group, with --uma of all together; else no limit, for queueing that of --machine
    #[arg(long, value_name = "MBPS", allow_negative_numbers = true, value_parser = megabytes)]
    pub max_bandwidth: Option<f64>,
    /// Last-level caches; else 1, or as many as a given solution uses
    #[arg(long, value_name = "N")]
    pub groups: Option<usize>,
    /// All groups share one memory controller; else each has its own
    #[arg(long)]
    pub uma: bool,
    /// Programs that fit on one last-level cache; else as many as an even spread needs
    #[arg(long, value_name = "C")]
    pub cores: Option<usize>,
    /// Ways of every last-level cache; else as many as the profiles have
    #[arg(long, value_name = "W")]
    pub ways: Option<usize>,
    /// What the exact searches optimise: unfairness or stp
    #[arg(long, value_name = "NAME", default_value = "unfairness")]
    pub objective: String,
    /// The machine that a table was measured on, which gives queueing the size of a way, the latency and the memory controller;
    /// else skylake-2x20
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Print how many mappings and solutions there are, and search nothing
    #[arg(long, conflicts_with_all = ["algorithm", "solution"])]
    pub count: bool,
    /// Programs of a workload, for --count without --workloads
    #[arg(long, value_name = "N", requires = "count", conflicts_with = "workloads")]
    pub apps: Option<usize>,
    /// End each search after so many seconds, with the best so far and how far it may be from the optimum
    #[arg(long, value_name = "S", value_parser = positive_seconds)]
    pub time_limit: Option<f64>,
    /// Threads to compute with, changing no solution; else one for each CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Print JSON, one line for each workload and algorithm
    #[arg(long)]
    pub json: bool,
}
