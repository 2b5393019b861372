//! The command line of `numasim`: verbs and options. Parsing it has no effect on anything.

use clap::{ArgAction, Parser, Subcommand};
use std::path::PathBuf;

/// An emulated NUMA machine to measure on: a real kernel, unmodified programs, modelled caches,
/// memory controllers and links
#[derive(Debug, Parser)]
#[command(name = "numasim", version, arg_required_else_help = true)]
pub struct Args {
    /// what to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run experiments: boot, run the programs under each contender, and compare
    #[command(after_help = "Example:
  numasim experiment numasim/experiments/wrong-node.toml
  numasim experiment numasim/experiments/mix.toml --repeats 3 --only dino --svg figures --keep last
  numasim experiment a.toml b.toml --until 2 --budget 120 --results results
  numasim experiment a.toml b.toml --repeats 8 --shard 1/3 --results results

Exit code: 0 done, 1 something did not run to its end, 2 wrong input.")]
    Experiment(ExperimentArgs),
    /// Merge the results of several folders and machines into tables, CSV or JSON
    #[command(after_help = "Example:
  numasim merge results
  numasim merge results-here results-there --csv > results.csv
  numasim merge results.csv --compare-with 'linux, balancing off'

Exit code: 0 done, 1 a run did not count or boots of the same hashes and seed differ, 2 wrong input.")]
    Merge(MergeArgs),
    /// Write results as a Markdown page, with figures
    #[command(after_help = "Example:
  numasim report results.csv -o docs/tournament.md --figures docs/images/tournament")]
    Report(ReportArgs),
    /// Compare two kernels: boot both in the same way, and compare completion times
    #[command(after_help = "Example:
  numasim kernels 6.12 7.3
  numasim kernels vmlinuz-before arch/x86/boot/bzImage
  numasim kernels A B numasim/experiments/wrong-node.toml --repeats 6 --results results

Without experiments: numasim/experiments/ci.toml. Of each, the contenders that are stock Linux run.
Exit code: 0 done, whichever is faster; 1 a boot or a run did not count, 2 wrong input.")]
    Kernels(KernelsArgs),
    /// Print a real machine, scaled, as a machine file
    #[command(after_help = "Example:
  numasim machine nehalem-2x4 > nehalem.toml
  numasim machine barcelona-4x4 --time-scale 40 --node-mib 256")]
    Machine(MachineArgs),
    /// Boot a machine, run one command on it, and show its output and what the machine counted
    #[command(after_help = "Example:
  numasim boot nehalem-2x4 -- chase --size-kib 4096
  numasim boot nehalem-2x4 -- numactl --cpunodebind=1 --membind=0 chase
  numasim boot nehalem-2x4 --page-trace cg.pages -- cg --threads 8 --each-on 0-7
  numasim boot my.toml --add ./program -- sh -c 'program & program; wait'")]
    Boot(BootArgs),
    /// Measure a machine from inside its guest and check it against its machine file: the laws
    #[command(after_help = "Example:
  numasim laws
  numasim laws my.toml --only latency --only cache
  numasim laws barcelona-4x4 --speed --json

Exit code: 0 all hold, 1 one does not, 2 wrong input.")]
    Laws(LawsArgs),
    /// Show what numasim needs, what is here, and what is missing
    Doctor,
}

/// `numasim experiment`
#[derive(Debug, clap::Args)]
pub struct ExperimentArgs {
    /// Experiment files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print one JSON document per experiment
    #[arg(long)]
    pub json: bool,
    /// Boot until each contender's 95 % interval reaches no further from its mean than this, in per
    /// cent of the mean: at least 3 boots, at most --repeats (100)
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub until: Option<f64>,
    /// Use at most this many minutes of host time: begin no boot that would exceed them if it took
    /// as long as earlier ones; several experiments take turns
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    pub budget: Option<f64>,
    /// Keep the result of each boot that ends well in this folder, and run only boots that are not
    /// there yet
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Run only every N-th boot, beginning with the I-th: machines share the boots, and
    /// `numasim merge` puts their results together
    #[arg(long, value_name = "I/N", conflicts_with = "until", requires = "results")]
    pub shard: Option<Shard>,
    /// Commit to name in the results, instead of what git says of the sources
    #[arg(long, value_name = "COMMIT")]
    pub commit: Option<String>,
    /// Write figures into this folder
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Number of boots, instead of the number in the file; with --until, the most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: Option<u32>,
    /// Number of boots that run side by side
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: u32,
    /// Run only contenders whose names contain this, and the baseline; may be repeated
    #[arg(long, value_name = "NAME", action = ArgAction::Append)]
    pub only: Vec<String>,
    /// Run one more contender: a program of this machine with its options, which runs beside the
    /// programs of the experiment, with NUMA balancing on; may be repeated
    #[arg(long, value_name = "COMMAND", action = ArgAction::Append)]
    pub daemon: Vec<String>,
    /// Run only this one of the measured programs; may be repeated
    #[arg(long, value_name = "NAME", action = ArgAction::Append)]
    pub program: Vec<String>,
    /// Folder of the experiment's host_files, instead of the experiment's own folder
    #[arg(long, value_name = "DIR")]
    pub host_files: Option<PathBuf>,
    /// Seed of the guests' random numbers and of the order of contenders, instead of the seed in
    /// the file
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep in this folder what each boot leaves (console, lines, page) and what it was made of
    /// (image, machine file, QEMU's command line)
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Boot without the plugin: nothing is modelled, and times mean nothing; for trying out an
    /// experiment
    #[arg(long)]
    pub plain: bool,
}

/// `numasim kernels`
#[derive(Debug, clap::Args)]
pub struct KernelsArgs {
    /// Kernel A, the reference: an image, or a release of Debian's such as 6.12 or 7.3.4, which is
    /// fetched
    pub a: PathBuf,
    /// Kernel B, which is compared with A
    pub b: PathBuf,
    /// Experiment files
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Number of boots of each experiment under each kernel
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: u32,
    /// Use at most this many minutes of host time: begin no boots that would exceed them if they
    /// took as long as earlier ones
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    pub budget: Option<f64>,
    /// Number of boots that run side by side
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: u32,
    /// Run contenders whose names contain this, instead of all that are stock Linux; may be
    /// repeated
    #[arg(long, value_name = "NAME", action = ArgAction::Append)]
    pub only: Vec<String>,
    /// Seed of the guests' random numbers, instead of the seed in the file
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep the result of each boot in this folder, and run only boots that are not there yet
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Print one JSON document per table
    #[arg(long)]
    pub json: bool,
}

/// `numasim merge`
#[derive(Debug, clap::Args)]
pub struct MergeArgs {
    /// Folders that `numasim experiment --results` filled, or files that `numasim merge --csv`
    /// wrote
    #[arg(required = true, value_name = "DIR|CSV")]
    pub results: Vec<PathBuf>,
    /// Print CSV: one row for each program, contender and boot
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print one JSON document per table
    #[arg(long)]
    pub json: bool,
    /// Compare with this contender, in experiments in which it ran, instead of the baseline
    #[arg(long, value_name = "NAME")]
    pub compare_with: Option<String>,
}

/// `numasim report`
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Folders that `numasim experiment --results` filled, or files that `numasim merge --csv`
    /// wrote
    #[arg(required = true, value_name = "DIR|CSV")]
    pub results: Vec<PathBuf>,
    /// Heading of the page
    #[arg(long, value_name = "TEXT", default_value = "Experiments on numasim")]
    pub title: String,
    /// Write the page into this file instead of printing it
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Draw figures into this folder, and link to them
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Compare with this contender, in experiments in which it ran, instead of the baseline
    #[arg(long, value_name = "NAME")]
    pub compare_with: Option<String>,
}

/// A share of a list: every `of`-th element, beginning with the element at `index`, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of this share, from 0.
    pub index: u32,
    /// Number of shares.
    pub of: u32,
}

impl Shard {
    /// Whether the element at this place of the list belongs to the share.
    pub const fn has(self, at: u32) -> bool {
        at % self.of == self.index
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(at, of)| Some((at.parse().ok()?, of.parse().ok()?)));
        let right = parts.filter(|(at, of): &(u32, u32)| (1..=*of).contains(at));
        right
            .map(|(at, of)| Self { index: at - 1, of })
            .ok_or_else(|| "expected I/N with I from 1 to N, such as 2/3".to_owned())
    }
}

fn percent(text: &str) -> Result<f64, String> {
    positive(text, 100.0).ok_or_else(|| "expected per cent above 0, such as 2".to_owned())
}

fn minutes(text: &str) -> Result<f64, String> {
    positive(text, 1e6).ok_or_else(|| "expected minutes above 0, such as 90".to_owned())
}

fn positive(text: &str, most: f64) -> Option<f64> {
    text.parse().ok().filter(|number| *number > 0.0 && *number <= most)
}

/// `numasim machine`
#[derive(Debug, clap::Args)]
pub struct MachineArgs {
    /// A machine that ships, such as nehalem-2x4
    pub name: String,
    /// how it is scaled
    #[command(flatten)]
    pub scale: ScaleArgs,
}

/// How a machine is scaled.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ScaleArgs {
    /// Guest nanoseconds for each nanosecond of the real machine
    #[arg(long, value_name = "FACTOR", default_value_t = 20.0)]
    pub time_scale: f64,
    /// Bytes of a real cache for each byte of a modelled one
    #[arg(long, value_name = "FACTOR", default_value_t = 16.0)]
    pub cache_scale: f64,
    /// Memory of each node, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    pub node_mib: u32,
}

/// `numasim boot`
#[derive(Debug, clap::Args)]
pub struct BootArgs {
    /// A machine that ships, or a machine file (ends in .toml)
    pub machine: String,
    /// how it is scaled; only for machines by name
    #[command(flatten)]
    pub scale: ScaleArgs,
    /// Scale the constants of the guest's kernel like the machine: slices, and the periods and
    /// sizes of NUMA balancing
    #[arg(long)]
    pub scaled_kernel: bool,
    /// Host seconds that the boot may take
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: u32,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Put this program of the host into the guest's /bin; may be repeated
    #[arg(long, value_name = "PROGRAM", action = ArgAction::Append)]
    pub add: Vec<PathBuf>,
    /// Build this package of the workspace and put its program into the guest; may be repeated
    #[arg(long, value_name = "PACKAGE", action = ArgAction::Append)]
    pub package: Vec<String>,
    /// Seed of the guest's random numbers: boots with the same seed are the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Keep in this folder what the boot leaves and what it was made of: image, machine file,
    /// QEMU's command line
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Also write how often each CPU accessed each page of the command; `numasim-trace` converts
    /// this to a trace of isobar
    #[arg(long, value_name = "FILE", conflicts_with = "plain")]
    pub page_trace: Option<PathBuf>,
    /// Mount resctrl on /sys/fs/resctrl; its groups control the ways of the modelled machine
    #[arg(long, conflicts_with = "plain")]
    pub resctrl: bool,
    /// Boot without the plugin: nothing is modelled
    #[arg(long)]
    pub plain: bool,
    /// Command to run, with its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<String>,
}

/// `numasim laws`
#[derive(Debug, clap::Args)]
pub struct LawsArgs {
    /// A machine that ships, or a machine file (ends in .toml)
    #[arg(default_value = "nehalem-2x4")]
    pub machine: String,
    /// how it is scaled; only for machines by name
    #[command(flatten)]
    pub scale: ScaleArgs,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Check only this law (latency, cache, bandwidth, sharing, ways, flush, load, time, overlap,
    /// coherence, clocks, lock, copy, copy-sizes, translation, daemon, threads, repeatability); may
    /// be repeated
    #[arg(long, value_name = "NAME", action = ArgAction::Append)]
    pub only: Vec<String>,
    /// Check all points of all laws, including copy-sizes
    #[arg(long)]
    pub full: bool,
    /// Also compare the host's time with and without the plugin: six more boots
    #[arg(long)]
    pub speed: bool,
    /// Host seconds that a boot may take
    #[arg(long, value_name = "S", default_value_t = 240, value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: u32,
    /// Keep what the boots leave in this folder
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_a_list() {
        let shards: Vec<Shard> = ["1/3", "2/3", "3/3"].map(|text| text.parse().unwrap()).to_vec();
        let of = |at: u32| shards.iter().filter(|shard| shard.has(at)).count();
        assert!((0..10).all(|at| of(at) == 1) && shards[1].has(4));
        assert!(["0/3", "4/3", "3", "a/b", "1/0"].iter().all(|text| text.parse::<Shard>().is_err()));
    }

    #[test]
    fn percent_and_minutes_are_above_zero() {
        assert_eq!((percent("2.5"), minutes("90")), (Ok(2.5), Ok(90.0)));
        assert!(["0", "-1", "nan", "101", "x"].iter().all(|text| percent(text).is_err()));
    }
}
