//! `isobar sim`: compares policies on a simulated machine.

mod comparison;
mod joint;
mod matrix;
mod shipped;

pub use matrix::{Task, compare_all};

use super::Verb;
use super::options::{Jobs, Sets, positive_seconds, seed};
use super::report::{self, PageOption, Timed};
use isobar_lab::Starts;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Compare policies on a simulated machine
#[derive(Debug, clap::Parser)]
#[command(
    name = "sim",
    after_help = "Example:
  isobar sim examples/workloads/dino-spec.toml --repeat 3 \\
      --policy linux,n-mass,dino,isobar
  isobar sim examples/workloads/nmass-soplex.toml --policy linux --optimum
  isobar sim examples/workloads/nmass-soplex.toml --policy linux \\
      --optimum joint
  isobar sim examples/stress/*.toml --policy linux,dino,divide-content
  isobar sim examples/own/workload.toml --policy linux,dino --repeat 3 \\
      --report own.html
  isobar sim --list
  isobar sim --describe nehalem-2x4
  isobar sim examples/own/workload.toml --policy linux,dino
  isobar sim --describe examples/own/measured.csv:sweep"
)]
pub struct Sim {
    /// The workload; for several, a table shows each policy's mean gain over `linux` on each of
    /// them
    #[arg(value_name = "WORKLOAD.toml", required_unless_present_any = ["list", "describe"])]
    workload: Vec<PathBuf>,
    /// List the machines and programs that ship
    #[arg(long, conflicts_with_all = ["workload", "policy", "describe"])]
    list: bool,
    /// Describe a machine or program that ships, or one in a file of your own
    ///
    /// A file is FILE.toml or FILE.csv, with :NAME if it has several programs.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["workload", "policy"])]
    describe: Option<String>,
    /// The policies to compare (`isobar --help` lists them); `linux` is the baseline
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', required_unless_present_any = ["list", "describe"])]
    policy: Vec<String>,
    /// The first seed; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Runs of each policy from each start, each run with the next seed; two or more give a
    /// confidence interval
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// The schedules from which threads start
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Schedules::Auto)]
    schedules: Schedules,
    /// Also compare with an optimum; without a value, `mappings`
    #[arg(long, value_name = "WHICH", value_enum, num_args = 0..=1, default_missing_value = "mappings")]
    optimum: Option<Optimum>,
    /// End the search of `--optimum joint` after S seconds on each workload
    ///
    /// The best arrangement found by then is used. Without a limit, the search ends after a fixed
    /// number of evaluations of the model.
    #[arg(long, value_name = "S", value_parser = positive_seconds, requires = "optimum")]
    time_limit: Option<f64>,
    /// how many runs at a time
    #[command(flatten)]
    jobs: Jobs,
    /// settings of policies
    #[command(flatten)]
    sets: Sets,
    /// a page of it
    #[command(flatten)]
    page: PageOption,
    /// The policy whose run the page also shows over time [default: the last of --policy]
    ///
    /// The run is the one with the first seed. Possible with one workload only.
    #[arg(long, value_name = "POLICY", requires = "report")]
    timeline: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Sim {
    /// Writes the page, if it was asked for.
    fn report(
        &self,
        document: serde_json::Value,
        title: &Path,
        facts: Vec<(String, String)>,
        timed: impl FnOnce() -> anyhow::Result<Option<Timed>>,
    ) -> anyhow::Result<()> {
        self.page.write(|| report::simulation(document, title, facts, timed()?))
    }
}

/// The optimum that policies are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Optimum {
    /// the best mapping of threads to last-level caches; every mapping is simulated
    Mappings,
    /// the best static arrangement of threads, pages and cache ways that a search finds under the
    /// contention model, with a bound on how much better any can be
    Joint,
}

/// Where the threads of `isobar sim` start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Schedules {
    /// `all` if at most 100 schedules differ and at most 64 threads run, otherwise `sampled`
    Auto,
    /// every schedule that balances CPU load; refused above 100 of them, or above 64 threads
    All,
    /// one such schedule for each run of --repeat, drawn by its seed
    Sampled,
}

impl From<Schedules> for Starts {
    fn from(schedules: Schedules) -> Self {
        match schedules {
            Schedules::Auto => Self::Auto,
            Schedules::All => Self::Every,
            Schedules::Sampled => Self::Sampled,
        }
    }
}

impl Verb for Sim {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.page.check()?;
        match (&self.workload[..], &self.describe) {
            (_, Some(name)) => shipped::describe(name, self.json, out),
            ([], None) => shipped::list(self.json, out),
            ([workload], None) => comparison::compare(workload, self, out),
            (workloads, None) => matrix::compare(workloads, self, out),
        }
    }
}
