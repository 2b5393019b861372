//! `isobar study`: answers static what-if questions and computes exact optima.

mod ask;

use super::Verb;
use super::options::{jobs, positive_seconds, within};
use super::report::{self, PageOption};
use crate::failure::notify;
use crate::progress::Progress;
use crate::signals::StopFlag;
use crate::terminal;
use crate::text::{json_line, plain, plural};
use isobar_study::{BANDWIDTH, Counted, LEGEND, Row, Summary, Text, thousands};
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Example:
  isobar study --profiles metrics.csv --workloads workloads.csv \\
      --algorithm none,lfoc+,opt-cluster
  isobar study --profiles machine:xeon-4x8 --algorithm lfoc+ \\
      --workloads examples/study/library.txt
  isobar study --profiles metrics.csv --workloads workloads.csv --groups 2 \\
      --uma --algorithm dino,divide-content,optimal --time-limit 10
  isobar study --profiles metrics.csv --algorithm fixed --solution s.json \\
      --model pbbcache-simple
  isobar study --profiles metrics.csv --workloads workloads.csv \\
      --algorithm all --report study.html
  isobar study --count --apps 16 --groups 4 --ways 16

A workload list has one workload on each line, as names separated by commas; # begins a comment.
Solutions are written as
  {\"solutions\": [{\"apps\": [\"a\", \"b\"], \"llc\": [0, 0], \"cluster\": [0, 1], \"ways\": [9, 2]}]}
Ctrl-C ends the study with the answers so far; a search then prints the best solution that it found.";

/// Find out which programs should share which last-level cache and which of its ways: heuristics,
/// exact optima, and solutions of your own
#[derive(Debug, clap::Parser)]
#[command(name = "study", after_help = format!("Algorithms:\n{}\n{EXAMPLES}", ask::described()))]
pub struct Study {
    /// The programs: a measured table (.csv), curves (.toml, .json), observations (.jsonl), or
    /// machine:NAME for the simulator's programs on a machine that ships
    #[arg(long, value_name = "FILE|machine:NAME", required_unless_present = "count")]
    profiles: Option<String>,
    /// The workloads [default: those of --solution]
    #[arg(long, value_name = "FILE", required_unless_present_any = ["count", "solution"])]
    workloads: Option<PathBuf>,
    /// The algorithms, listed below; `all` stands for all that apply
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', required_unless_present = "count")]
    algorithm: Vec<String>,
    /// Solutions to evaluate, for --algorithm fixed
    #[arg(long, value_name = "FILE")]
    solution: Option<PathBuf>,
    /// The model of how programs slow each other down: queueing, pbbcache-simple or pbbcache-stalls
    #[arg(long, value_name = "NAME", default_value = "queueing")]
    model: String,
    /// Memory bandwidth of each group in MB/s, or with --uma of all groups together, 1 to 1e9
    /// [default: no limit; for queueing that of --machine]
    #[arg(long, value_name = "MBPS", allow_negative_numbers = true, value_parser = megabytes)]
    max_bandwidth: Option<f64>,
    /// Number of last-level caches [default: 1, or as many as a given solution uses]
    #[arg(long, value_name = "N")]
    groups: Option<usize>,
    /// All groups share one memory controller, instead of one for each group
    #[arg(long)]
    uma: bool,
    /// Maximum number of programs on one last-level cache [default: as many as an even spread
    /// needs]
    #[arg(long, value_name = "C")]
    cores: Option<usize>,
    /// Ways of each last-level cache [default: as many as the profiles have]
    #[arg(long, value_name = "W")]
    ways: Option<usize>,
    /// What the exact searches optimise: unfairness or stp
    #[arg(long, value_name = "NAME", default_value = "unfairness")]
    objective: String,
    /// The machine on which a table was measured, which gives queueing the size of a way, the
    /// latency and the memory controller [default: skylake-2x20]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Print the number of mappings and of solutions, and search nothing
    #[arg(long, conflicts_with_all = ["algorithm", "solution"])]
    count: bool,
    /// Number of programs in a workload, for --count without --workloads
    #[arg(long, value_name = "N", requires = "count", conflicts_with = "workloads")]
    apps: Option<usize>,
    /// End each search after S seconds, with the best solution so far and a bound on how far it is
    /// from the optimum
    #[arg(long, value_name = "S", value_parser = positive_seconds)]
    time_limit: Option<f64>,
    /// Threads to compute with, which change no solution [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// a page of it
    #[command(flatten)]
    page: PageOption,
    /// Print JSON, one line for each workload and algorithm
    #[arg(long)]
    json: bool,
}

impl Verb for Study {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.count {
            return ask::counts(self)?.iter().try_for_each(|counted| count(counted, self.json, out));
        }
        self.page.check()?;
        let study = ask::prepare(self)?;
        study.remarks().iter().for_each(|remark| notify(&format!("remark: {remark}")));
        let stop = StopFlag::install()?;
        let progress = Progress::of("answers");
        progress.notify(0, study.answers());
        let mut printer = Printer::new(self, out);
        printer.begin(&study.heading())?;
        let done = ask::run(&study, jobs(self.jobs), &progress, &stop, |row| progress.aside(|| printer.row(&row)));
        progress.end();
        done?;
        if stop.is_raised() {
            notify(&format!("stopped: {} of {}", printer.rows, plural(study.answers(), "answer")));
        }
        let rows = std::mem::take(&mut printer.kept);
        printer.end()?;
        let title = self.workloads.as_deref().or(self.solution.as_deref()).unwrap_or_else(|| Path::new("study"));
        self.page.write(|| report::study(rows, title))
    }
}

fn megabytes(text: &str) -> Result<f64, String> {
    within(text, BANDWIDTH, "MB/s from 1 to 1e9, such as 20000")
}

fn count(counted: &Counted, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if json {
        return Ok(writeln!(out, "{}", serde_json::to_string(counted)?)?);
    }
    let Counted { apps, groups, cores, ways, mappings, solutions } = counted;
    let text = format!(
        "{apps} programs in {groups} {} of at most {cores}, {ways} ways each: {} mappings, {} solutions",
        if *groups == 1 { "group" } else { "groups" },
        thousands(mappings),
        thousands(solutions)
    );
    Ok(writeln!(out, "{text}")?)
}

/// Prints the answers, for people or for programs.
struct Printer<'a> {
    out: &'a mut dyn Write,
    json: bool,
    text: Text,
    summary: Summary,
    rows: usize,
    /// Whether answers are kept for a page.
    keeps: bool,
    kept: Vec<serde_json::Value>,
}

impl<'a> Printer<'a> {
    fn new(args: &Study, out: &'a mut dyn Write) -> Self {
        let (json, keeps) = (args.json, args.page.asked());
        let columns = terminal::size().map_or(80, |(columns, _)| columns);
        Self {
            out,
            json,
            text: Text::new(columns.min(MOST_COLUMNS)),
            summary: Summary::default(),
            rows: 0,
            keeps,
            kept: Vec::new(),
        }
    }

    fn begin(&mut self, heading: &str) -> anyhow::Result<()> {
        if self.json { Ok(()) } else { self.lines(&format!("{heading}\n\n")) }
    }

    fn row(&mut self, row: &Row) -> anyhow::Result<()> {
        self.rows += 1;
        if self.keeps {
            self.kept.push(serde_json::to_value(row)?);
        }
        if self.json {
            writeln!(self.out, "{}", json_line(&serde_json::to_value(row)?))?;
        } else {
            self.summary.add(row);
            let text = self.text.row(row);
            self.lines(&text)?;
        }
        Ok(self.out.flush()?)
    }

    fn end(&mut self) -> anyhow::Result<()> {
        if self.json {
            return Ok(());
        }
        let table = self.summary.table();
        self.lines(&format!("{table}\n{LEGEND}"))
    }

    fn lines(&mut self, text: &str) -> anyhow::Result<()> {
        text.lines().try_for_each(|line| Ok(writeln!(self.out, "{}", plain(line))?))
    }
}

/// The widest line, even if the terminal is wider.
const MOST_COLUMNS: usize = 120;
