//! `isobar probe`: measures the latency between nodes, once or until it is stopped; with
//! `--bandwidth`, how much they can stream.

mod bandwidth;
mod json;
mod table;

use super::Verb;
use super::options::within;
use crate::failure::bad_input;
use crate::machines::linux;
use crate::machines::probe::{Prober, Round};
use crate::report::{Live, Size};
use crate::signals::StopFlag;
use crate::text::json_line;
use anyhow::Context;
use isobar_model::Topology;
use std::io::{self, IsTerminal, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};
use table::History;

/// Rounds before the first one that is printed. They provide the idle baseline, which with one
/// round would be that round itself.
const WARMING: usize = 5;

/// Pause between those rounds.
const SHORT: Duration = Duration::from_millis(10);

/// Measure how long loads take between nodes under the current load
#[derive(Debug, clap::Parser)]
#[command(
    name = "probe",
    after_help = "Example:
  isobar probe
  isobar probe --interval 0.5
  isobar probe --count 10 --json
  isobar probe --bandwidth

On each node, one thread times loads that miss every cache: 8 loads from each of 20 pages of every
node's memory. The output shows the medians and, beside them, the idle latency, which is the lowest
median of this run so far. The firmware's figures (HMAT) are shown if sysfs has them. They are not
used as the idle latency, because they leave out part of what a load costs a program.

On a terminal, probe runs until Ctrl-C and draws the last minutes of every pair; elsewhere, and with
--json, it measures one round.

With --json, every round is one line: latency_ns, p95_ns, cycles and idle_ns by node of the CPU
(row) and node of the memory (column), null if not measured; cost_us is the CPU time of each node's
thread."
)]
pub struct Probe {
    /// Seconds between rounds, 0.01 to 86400
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = interval)]
    interval: f64,
    /// Number of rounds [default: 1; on a terminal until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print JSON, one document a line
    #[arg(long)]
    json: bool,
    /// Measure the read bandwidth between nodes instead (0.2 s for each pair, with all CPUs of a
    /// node), and print the weights of weighted interleave that follow from it
    #[arg(long, conflicts_with_all = ["interval", "count"])]
    bandwidth: bool,
}

fn interval(text: &str) -> Result<f64, String> {
    within(text, 0.01..=86_400.0, "seconds from 0.01 to 86400, such as 0.5 or 2")
}

impl Verb for Probe {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let machine = linux::read_topology(None)?;
        let stop = StopFlag::install().context("cannot catch signals")?;
        if self.bandwidth {
            return bandwidth::run(&machine, self.json, &|| stop.is_raised(), out);
        }
        let mut prober = Prober::start(&machine).map_err(bad_input)?;
        let mut rebound = 0;
        for _ in 0..WARMING {
            rebound += prober.round().rebound;
            sleep(SHORT);
        }
        self.rounds(&machine, &mut prober, rebound, &stop, out)
    }
}

/// How rounds are shown.
enum ProbeOutput {
    /// a document a line
    Json,
    /// one table
    Table,
    /// a line each
    Lines,
    /// a picture that is redrawn
    Live(Box<Live>),
}

impl Probe {
    fn shown(&self) -> ProbeOutput {
        match (self.json, io::stdout().is_terminal(), self.count) {
            (true, ..) => ProbeOutput::Json,
            (_, _, Some(1)) | (_, false, None) => ProbeOutput::Table,
            (_, true, _) => ProbeOutput::Live(Box::default()),
            (_, false, Some(_)) => ProbeOutput::Lines,
        }
    }

    fn rounds(
        &self,
        machine: &Topology,
        prober: &mut Prober,
        mut rebound: usize,
        stop: &StopFlag,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let mut shown = self.shown();
        let endless = matches!(shown, ProbeOutput::Live(_));
        let mut left = self.count.unwrap_or(if endless { u64::MAX } else { 1 });
        let (began, mut history) = (Instant::now(), History::default());
        loop {
            let time = began.elapsed().as_secs_f64();
            let mut round = prober.round();
            rebound += round.rebound;
            round.rebound = rebound;
            history.add(&round);
            show(&mut shown, &mut *out, machine, &round, &history, time)?;
            left -= 1;
            if left == 0 || !stop.pause(self.interval) {
                return Ok(());
            }
        }
    }
}

fn show(
    shown: &mut ProbeOutput,
    out: &mut dyn Write,
    machine: &Topology,
    round: &Round,
    history: &History,
    time: f64,
) -> io::Result<()> {
    match shown {
        ProbeOutput::Json => writeln!(out, "{}", json_line(&json::round(round, time)))?,
        ProbeOutput::Table => writeln!(out, "{}", table::table(machine, round).join("\n"))?,
        ProbeOutput::Lines => writeln!(out, "{}", table::line(round, time))?,
        ProbeOutput::Live(live) => {
            let size = Size::of_terminal();
            let lines = table::live(round, history, size.columns);
            write!(out, "{}", live.draw(&lines, size))?;
        }
    }
    out.flush()
}
