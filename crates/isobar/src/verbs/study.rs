//! `isobar study`: static what-if and exact optima.

use crate::adapt::study::{self, Counted, LEGEND, Row, Summary, Text, thousands};
use crate::args::StudyArgs;
use crate::failure::tell;
use crate::progress::Progress;
use crate::signals::StopFlag;
use crate::text::{json_line, plain, plural};
use std::io::{self, Write};

/// Answers every workload by every algorithm and prints each answer as soon as it is known, in order.
///
/// # Errors
/// Bad input: profiles, workloads, solutions, names and figures that do not fit each other.
pub fn run(args: &StudyArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    if args.count {
        return study::counts(args)?.iter().try_for_each(|counted| count(counted, args.json, out));
    }
    let study = study::prepare(args)?;
    study.remarks().iter().for_each(|remark| tell(&format!("remark: {remark}")));
    let stop = StopFlag::install()?;
    let progress = Progress::of("answers");
    progress.tell(0, study.answers());
    let mut printer = Printer::new(args.json, out);
    printer.begin(&study.heading())?;
    let done = study::run(&study, super::jobs(args.jobs), &progress, &stop, |row| progress.aside(|| printer.row(&row)));
    progress.end();
    done?;
    if stop.is_raised() {
        tell(&format!("stopped: {} of {}", printer.rows, plural(u64::try_from(study.answers())?, "answer")));
    }
    printer.end()
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

/// What is told, to people or to programs.
struct Printer<'a> {
    out: &'a mut dyn Write,
    json: bool,
    text: Text,
    summary: Summary,
    rows: usize,
}

impl<'a> Printer<'a> {
    fn new(json: bool, out: &'a mut dyn Write) -> Self {
        let columns = terminal_size::terminal_size_of(io::stdout()).map_or(80, |(width, _)| usize::from(width.0));
        Self { out, json, text: Text::new(columns.min(MOST_COLUMNS)), summary: Summary::default(), rows: 0 }
    }

    fn begin(&mut self, heading: &str) -> anyhow::Result<()> {
        if self.json { Ok(()) } else { self.lines(&format!("{heading}\n\n")) }
    }

    fn row(&mut self, row: &Row) -> anyhow::Result<()> {
        self.rows += 1;
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

/// The widest line, however wide the terminal.
const MOST_COLUMNS: usize = 120;
