//! What was typed. It knows the verbs, their options and an example of each; it reads no file, checks nothing against a
//! machine and acts on nothing.

mod study;

pub use study::StudyArgs;

use crate::adapt::study::BANDWIDTH;
use crate::failure;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use isobar_runtime::settings::INTERVAL_SECONDS;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Keeps the memory systems of a NUMA machine at equal pressure: watches threads, caches and memory, explains what it
/// sees, moves threads and pages, and puts everything back.
#[derive(Debug, Parser)]
#[command(name = "isobar", version, propagate_version = true, max_term_width = 110)]
pub struct Args {
    /// what to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs, one file each under `verbs/`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Draw this machine: nodes, their caches and CPUs, memory, distances
    #[command(after_help = "Example:
  isobar topo
  isobar topo --root captured-tree.tar.bz2 --json
  COLUMNS=120 isobar topo | less

The drawing is as wide as COLUMNS says, else as the terminal is, else 80 columns; at least 40.")]
    Topo(TopoArgs),
    /// Read observations, one JSON document a line, and print one plan a line
    #[command(after_help = "Example:
  isobar decide --policy dino --set dino.stray_percent=10 observations.jsonl
  isobar manage --policy dino --dry-run --json --for 5 |
    jq -c '.observation // empty' | isobar decide --policy dino -")]
    Decide(DecideArgs),
    /// Watch the machine and apply a policy every epoch; put everything back at the end
    #[command(after_help = "Example:
  isobar manage --policy dino --dry-run --for 10
  isobar manage --policy dino --only 'postgres*' --config examples/isobar.toml
  isobar manage --policy dino --machine sim:examples/workloads/dino-spec.toml

Patterns of --only (quote them): * is any characters, ? one, [abc] one of these; in a path not /, but ** alone between \
slashes is any folders; [*], [?] and [[] are the characters themselves. A path counts in every cgroup hierarchy, of \
version 1, too; /sys/fs/cgroup/CONTROLLER/PATH names one of those.

Every signal that can be caught (Ctrl-C, SIGTERM, SIGHUP, ...) ends it in order, however often it comes; what is not put back
within manage.stop_seconds is reported. After a kill -9, `isobar restore` or the next run puts back.

Nothing waits for who reads the output: lines that find no reader are dropped and counted. Many actions of one kind are one
line, and at most 20 lines of a kind are printed in 10 s; the next one says how many more there were. With --json every epoch
has all its actions; `missing`, `lacking` and `remarks` stand in the first document and then where they change.")]
    Manage(ManageArgs),
    /// Make one decision, change nothing, and say why
    #[command(after_help = "Example:
  isobar explain --policy dino --epochs 3
  isobar explain --policy dino --machine sim:examples/workloads/dino-spec.toml")]
    Explain(ExplainArgs),
    /// Put back what a killed `manage` left changed
    #[command(after_help = "Example:
  isobar restore
  isobar restore --state /run/isobar/state.json --json

Exit code: 0 put back, or nothing to do; 1 not everything could be put back, or another isobar runs;
2 --state names a file that is no state file.")]
    Restore(RestoreArgs),
    /// Compare policies on a simulated machine
    #[command(after_help = "Example:
  isobar sim examples/workloads/dino-spec.toml --policy linux,di-plain,di-migrate,dino --repeat 3
  isobar sim examples/workloads/nmass-soplex.toml --policy linux --optimum
  isobar sim --list
  isobar sim --describe nehalem-2x4
  isobar sim examples/own/workload.toml --policy linux,dino
  isobar sim --describe examples/own/measured.csv:sweep")]
    Sim(SimArgs),
    /// Run the papers' experiments again on simulated machines, claim by claim: the paper's figure, ours, and whether they agree
    #[command(after_help = "Example:
  isobar reproduce nmass
  isobar reproduce all --figures figures --json

Sign: whether the direction is the paper's; size: whether the figure is, within the band told under `why`; - is where the
paper prints nothing to compare with. A claim that does not come out stays in the table as such, and is no failure.")]
    Reproduce(ReproduceArgs),
    /// Ask who should go to which last-level cache and share which ways: heuristics, exact optima, and solutions of your own
    #[command(after_help = "Example:
  isobar study --profiles metrics.csv --workloads workloads.csv --algorithm none,lfoc+,opt-cluster
  isobar study --profiles machine:xeon-4x8 --workloads examples/study/library.txt --algorithm lfoc+
  isobar study --profiles metrics.csv --workloads workloads.csv --groups 2 --uma \\
    --algorithm dino,divide-content,optimal --time-limit 10
  isobar study --profiles metrics.csv --algorithm fixed --solution s.json --model pbbcache-simple
  isobar study --count --apps 16 --groups 4 --ways 16

A workload list has one workload a line, names separated by commas, # comments. Solutions are
  {\"solutions\": [{\"apps\": [\"a\", \"b\"], \"llc\": [0, 0], \"cluster\": [0, 1], \"ways\": [9, 2]}]}
Ctrl-C ends it with the answers so far; a search then tells the best that it has.")]
    Study(StudyArgs),
}

/// `isobar topo`
#[derive(Debug, clap::Args)]
pub struct TopoArgs {
    /// Read a captured tree instead: a folder that holds sys/, or a .tar.bz2 or .tar.gz of one
    #[arg(long, value_name = "DIR|ARCHIVE")]
    pub root: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `isobar decide`
#[derive(Debug, clap::Args)]
pub struct DecideArgs {
    /// The policy (`isobar --help` lists them); it keeps what it remembers from line to line
    #[arg(long, value_name = "NAME")]
    pub policy: String,
    /// A setting of a policy, such as dino.stray_percent=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub set: Vec<String>,
    /// The observations; - is standard input
    #[arg(value_name = "FILE|-")]
    pub file: PathBuf,
    /// Accepted as by every verb; `decide` prints nothing but JSON
    #[arg(long)]
    pub json: bool,
}

/// What `manage` and `explain` share.
#[derive(Debug, clap::Args)]
#[allow(rustdoc::broken_intra_doc_links)] // These comments are the text of --help: [manage] is a section, not a link.
pub struct WatchArgs {
    /// The policy (`isobar --help` lists them), unless `policy` in the section [manage] of the configuration names it
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// Settings as TOML: a section [manage] and one for each policy; the command line wins
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Manage only this process name, process id, or cgroup path and what is below it, names and paths also as globs; may be
    /// repeated
    #[arg(long, value_name = "NAME|PID|CGROUP", action = ArgAction::Append)]
    pub only: Vec<String>,
    /// One setting, such as manage.min_cpu_percent=5 or dino.stray_percent=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub set: Vec<String>,
    /// Seconds from decision to decision, 0.01 to 86400; else 1, or what a simulated workload asks for
    #[arg(long, value_name = "S", value_parser = interval_seconds)]
    pub interval: Option<f64>,
    /// A simulated machine instead of this one
    #[arg(long, value_name = "sim:FILE")]
    pub machine: Option<String>,
    /// Seed of the simulated machine
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Print JSON: `manage` one document an epoch and a summary, `explain` one document
    #[arg(long)]
    pub json: bool,
}

/// `isobar manage`
#[derive(Debug, clap::Args)]
pub struct ManageArgs {
    /// what to watch and how
    #[command(flatten)]
    pub watch: WatchArgs,
    /// Decide and tell, but change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Stop after so many seconds, at least one interval (else at Ctrl-C)
    #[arg(long = "for", value_name = "S", value_parser = positive_seconds)]
    pub duration: Option<f64>,
    /// At the end, write what the policy measured of programs with more and fewer cache ways, as profiles that `study` reads
    #[arg(long, value_name = "FILE")]
    pub save_profiles: Option<PathBuf>,
    /// Print only warnings, refusals and the summary
    #[arg(long, short, conflicts_with_all = ["verbose", "json"])]
    pub quiet: bool,
    /// Print every action and note, however many there are
    #[arg(long, short, conflicts_with = "json")]
    pub verbose: bool,
}

/// `isobar explain`
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// what to watch and how
    #[command(flatten)]
    pub watch: WatchArgs,
    /// Epochs to watch before the decision that is explained; policies with a history need more than one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub epochs: u64,
}

/// `isobar restore`
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// The state file; else /run/isobar/state.json for root, $XDG_RUNTIME_DIR/isobar/state.json for others
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `isobar sim`
#[derive(Debug, clap::Args)]
pub struct SimArgs {
    /// The workload
    #[arg(value_name = "WORKLOAD.toml", required_unless_present_any = ["list", "describe"])]
    pub workload: Option<PathBuf>,
    /// List the machines and programs that ship
    #[arg(long, conflicts_with_all = ["workload", "policy", "describe"])]
    pub list: bool,
    /// Describe a machine or program that ships, or one of your own file: FILE.toml or FILE.csv, with :NAME where the file has
    /// several programs
    #[arg(long, value_name = "NAME", conflicts_with_all = ["workload", "policy"])]
    pub describe: Option<String>,
    /// The policies to compare (`isobar --help` lists them); `linux` is the baseline
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', required_unless_present_any = ["list", "describe"])]
    pub policy: Vec<String>,
    /// The first seed; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Runs of each policy from each start, each run with the next seed; two or more give a confidence interval
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Where threads start: on every schedule that balances CPU load (`all`), on one that the seed draws (`sampled`), or on all where
    /// at most 100 differ and at most 64 threads run (`auto`)
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Schedules::Auto)]
    pub schedules: Schedules,
    /// Run every mapping of threads to last-level caches, too, and tell the best and the worst
    #[arg(long)]
    pub optimum: bool,
    /// Runs computed side by side, changing no result; else one for each CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// A setting of a policy, such as dino.stray_percent=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub set: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `isobar reproduce`
#[derive(Debug, clap::Args)]
pub struct ReproduceArgs {
    /// The paper
    #[arg(value_name = "PAPER", value_enum, default_value_t = Paper::All)]
    pub paper: Paper,
    /// Shorter and fewer runs: signs come out, sizes are rough
    #[arg(long)]
    pub quick: bool,
    /// Write the papers' figures, drawn anew, as SVG files into this folder, which is made where it is missing
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// The first seed; the same seed gives the same bytes, but for the times of dc-6
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Runs computed side by side, changing no result; else one for each CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// What `isobar reproduce` runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Paper {
    /// Majo and Gross 2011: N-MASS
    Nmass,
    /// Blagodurov and others 2011: DINO
    Dino,
    /// Bilbao and others 2023: Divide&Content
    Dc,
    /// all of them
    All,
}

/// Where the threads of `isobar sim` start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Schedules {
    /// all where they are few
    Auto,
    /// all
    All,
    /// drawn by the seed
    Sampled,
}

/// Reads the command line. What clap has to say about it is already printed when this returns an exit code: help and
/// version on stdout, a mistake in one line on stderr. `policies` is the list below the help of the whole, `algorithms` that below
/// `study`.
pub fn parse(policies: &str, algorithms: &str) -> Result<Args, ExitCode> {
    let command = Args::command().after_help(format!("Policies:\n{policies}"));
    let command = command.mut_subcommand("study", |study| {
        let examples = study.get_after_help().map(ToString::to_string).unwrap_or_default();
        study.after_help(format!("Algorithms:\n{algorithms}\n{examples}"))
    });
    let parsed = command.try_get_matches().and_then(|matches| Args::from_arg_matches(&matches));
    parsed.map_err(|error| {
        if error.use_stderr() && error.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            failure::tell(&one_line(&error.to_string(), verb_of(std::env::args_os().nth(1)).as_deref()));
        } else {
            drop(error.print());
        }
        ExitCode::from(if error.use_stderr() { 2 } else { 0 })
    })
}

/// clap tells a mistake in paragraphs (what, tips, usage, "try --help"): joined, without the usage.
fn one_line(told: &str, verb: Option<&str>) -> String {
    let told = told.strip_prefix("error: ").unwrap_or(told);
    let wanted = |line: &&str| !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more");
    let lines = told.lines().map(str::trim).filter(wanted);
    let line = lines.fold(String::new(), |line, next| match line.as_str() {
        "" => next.to_owned(),
        // What is missing follows a colon; a tip is a sentence of its own.
        before if before.ends_with(':') => format!("{before} {next}"),
        before => format!("{before}; {next}"),
    });
    let help = verb.map_or_else(|| "isobar --help".to_owned(), |verb| format!("isobar {verb} --help"));
    format!("{line} (see `{help}`)")
}

/// The verb that was typed, where there is such a one.
fn verb_of(typed: Option<OsString>) -> Option<String> {
    typed.and_then(|word| word.into_string().ok()).filter(|word| Args::command().find_subcommand(word).is_some())
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

fn megabytes(text: &str) -> Result<f64, String> {
    let mbps = text.parse::<f64>().ok().filter(|mbps| BANDWIDTH.contains(mbps));
    mbps.ok_or_else(|| "expected MB/s from 1 to 1e9, such as 20000".to_owned())
}

fn interval_seconds(text: &str) -> Result<f64, String> {
    let (low, high) = (INTERVAL_SECONDS.start(), INTERVAL_SECONDS.end());
    let seconds = text.parse::<f64>().ok().filter(|seconds| INTERVAL_SECONDS.contains(seconds));
    seconds.ok_or_else(|| format!("expected seconds from {low} to {high}, such as 0.5 or 10"))
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    seconds.ok_or_else(|| "expected seconds above 0, such as 0.5 or 10".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_holds_together_and_every_verb_has_an_example() {
        let command = Args::command();
        command.clone().debug_assert();
        for verb in command.get_subcommands() {
            let help = verb.get_after_help().unwrap_or_else(|| panic!("{} has no example", verb.get_name()));
            assert!(help.to_string().contains(&format!("isobar {}", verb.get_name())), "{help}");
        }
    }

    fn told(words: &[&str]) -> String {
        let error = Args::try_parse_from(words).unwrap_err();
        one_line(&error.to_string(), verb_of(words.get(1).map(|word| OsString::from(*word))).as_deref())
    }

    #[test]
    fn mistakes_become_one_line() {
        let help = "(see `isobar manage --help`)";
        assert_eq!(
            told(&["isobar", "topo", "--rot", "x"]),
            "unexpected argument '--rot' found; tip: a similar argument exists: '--root' (see `isobar topo --help`)"
        );
        let line = told(&["isobar", "manage", "--for", "-3"]);
        assert!(!line.contains('\n') && line.ends_with(help), "{line}");
        let both = told(&["isobar", "manage", "--quiet", "--json"]);
        assert!(both.starts_with("the argument '--quiet' cannot be used with '--json'"), "{both}");
        assert!(told(&["isobar", "paint"]).ends_with("(see `isobar --help`)"));
        assert_eq!(
            told(&["isobar", "decide"]),
            "the following required arguments were not provided: --policy <NAME>; <FILE|-> (see `isobar decide --help`)"
        );
    }
}
