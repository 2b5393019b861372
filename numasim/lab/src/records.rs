//! Writes results as CSV, one row for each job of each contender in each boot, and reads them back,
//! because pages are made of such a file alone. A figure that was not measured is an empty cell.
//! This file knows columns and averages nothing.

use crate::error::LabError;
use crate::identity::Identity;
use crate::metrics::Measures;
use crate::plan::{program_of, under_id};
use crate::sets::{Set, Taken};
use crate::stats::fairness;
use crate::summary::{Counted, Head, overall};
use numasim_model::num;
use std::collections::{BTreeMap, BTreeSet};

/// The columns before the columns of latencies, whose names the programs choose.
const FIRST: [&str; 22] = [
    "experiment",
    "machine",
    "time_scale",
    "cache_scale",
    "baseline",
    "contender",
    "seed",
    "program",
    "instance",
    "seconds",
    "alone_seconds",
    "slowdown",
    "ratio",
    "contender_ratio",
    "antt",
    "antt_ratio",
    "unfairness",
    "stp",
    "remote_share",
    "pages_migrated",
    "thread_migrations",
    "daemon_cpu_seconds",
];
/// The columns after those of latencies.
const LAST: [&str; 11] = [
    "problem",
    "command",
    "commit",
    "kernel",
    "experiment_sha256",
    "machine_sha256",
    "kernel_sha256",
    "qemu_sha256",
    "plugin_sha256",
    "image_sha256",
    "about",
];

/// The sets as CSV.
#[must_use]
pub fn write(sets: &[Set]) -> String {
    let runs = || sets.iter().flat_map(|set| &set.boots).flat_map(|boot| boot.counted.runs.values());
    let latencies: BTreeSet<&String> =
        runs().flat_map(|run| run.latencies_us.values()).flat_map(BTreeMap::keys).collect();
    let mut csv = csv::Writer::from_writer(Vec::new());
    let columns = FIRST.iter().copied().chain(latencies.iter().map(|name| name.as_str())).chain(LAST);
    let _ = csv.write_record(columns);
    for (set, boot) in sets.iter().flat_map(|set| set.boots.iter().map(move |boot| (set, boot))) {
        let of = |cells: &Cells| row(set, boot, cells, &latencies);
        rows(set, boot).iter().for_each(|cells| _ = csv.write_record(of(cells)));
    }
    csv.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The cells that differ from row to row of a boot.
#[derive(Default)]
struct Cells {
    contender: String,
    job: String,
    figures: Vec<Option<f64>>,
    latencies: BTreeMap<String, f64>,
    problem: String,
}

/// The rows of a boot: contender after contender, its jobs and why its run did not count; then the
/// problems that belong to no contender.
fn rows(set: &Set, boot: &Taken) -> Vec<Cells> {
    let base = boot.counted.runs.get(&set.head.baseline);
    let problems = &boot.counted.problems;
    let whose =
        |why: &String| set.head.contenders.iter().find(|name| why.starts_with(&format!("{}: ", under_id(name))));
    let of = |name: Option<&String>| -> Vec<Cells> {
        let problem = |why: &String| Cells {
            contender: name.cloned().unwrap_or_default(),
            problem: why.clone(),
            ..Cells::default()
        };
        problems.iter().filter(|why| whose(why) == name).map(problem).collect()
    };
    let jobs = |name: &String| -> Vec<Cells> {
        let jobs = |run: &Measures| {
            run.seconds.iter().map(|(job, seconds)| cells(boot, base, (name, run), (job, *seconds))).collect()
        };
        boot.counted.runs.get(name).map_or_else(Vec::new, jobs)
    };
    let contenders = set.head.contenders.iter().flat_map(|name| jobs(name).into_iter().chain(of(Some(name))));
    contenders.chain(of(None)).collect()
}

fn cells(
    boot: &Taken,
    base: Option<&Measures>,
    (contender, run): (&str, &Measures),
    (job, seconds): (&str, f64),
) -> Cells {
    let over = |(one, base): (f64, f64)| one / base;
    let antt = |run: &Measures| run.summary.map(|summary| summary.antt);
    Cells {
        contender: contender.to_owned(),
        job: job.to_owned(),
        figures: vec![
            Some(seconds),
            boot.counted.alone.get(program_of(job)).copied(),
            run.slowdowns.get(job).copied(),
            base.and_then(|base| Some(seconds / base.seconds.get(job)?)),
            base.and_then(|base| overall(run, base)).map(over),
            antt(run),
            base.and_then(|base| Some(antt(run)? / antt(base)?)),
            run.summary.map(|summary| summary.unfairness),
            run.summary.map(|summary| summary.stp),
            run.remote_share,
            run.pages_migrated.map(num::float),
            run.thread_migrations.map(num::float),
            run.daemon_cpu_seconds,
        ],
        latencies: run.latencies_us.get(job).cloned().unwrap_or_default(),
        problem: String::new(),
    }
}

fn row(set: &Set, boot: &Taken, cells: &Cells, latencies: &BTreeSet<&String>) -> Vec<String> {
    let Head { experiment, machine, time_scale, cache_scale, baseline, about, .. } = &set.head;
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let (program, instance) = cells.job.split_once('#').unwrap_or((&cells.job, ""));
    let mut row = vec![experiment.clone(), machine.clone(), time_scale.to_string(), cache_scale.to_string()];
    row.extend([
        baseline.clone(),
        cells.contender.clone(),
        boot.seed.to_string(),
        program.to_owned(),
        instance.to_owned(),
    ]);
    let empty = FIRST.len() - row.len() - cells.figures.len();
    row.extend(cells.figures.iter().map(|value| number(*value)).chain((0..empty).map(|_| String::new())));
    row.extend(latencies.iter().map(|name| number(cells.latencies.get(*name).copied())));
    row.extend([cells.problem.clone(), boot.command.clone(), boot.commit.clone(), boot.kernel.clone()]);
    row.extend(set.identity.parts().map(|(_, hash)| hash.to_owned()));
    row.push(about.split_whitespace().collect::<Vec<_>>().join(" "));
    row
}

/// Reads sets of results; `file` is the name that messages use for the CSV.
///
/// # Errors
/// A line with the file, the line and the column, and what would be right.
pub fn read(text: &str, file: &str) -> Result<Vec<Set>, LabError> {
    let wrong = |problem: String| LabError::input(file, problem);
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    let columns: Vec<String> =
        csv.headers().map_err(|error| wrong(error.to_string()))?.iter().map(str::to_owned).collect();
    if let Some(missing) = FIRST.iter().chain(&LAST).find(|name| !columns.iter().any(|column| column == *name)) {
        return Err(wrong(format!("has no column `{missing}`: expected a file that `numasim merge --csv` wrote")));
    }
    let mut sets = Vec::new();
    for record in csv.records() {
        let record = record.map_err(|error| wrong(error.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells: BTreeMap<&str, &str> = columns.iter().map(String::as_str).zip(&record).collect();
        Line { cells: &cells }.add(&mut sets).map_err(|problem| wrong(format!("line {line}: {problem}")))?;
    }
    if sets.is_empty() { Err(wrong("has no rows".to_owned())) } else { Ok(sets) }
}

/// A row that is being read.
struct Line<'a> {
    cells: &'a BTreeMap<&'a str, &'a str>,
}

impl Line<'_> {
    fn text(&self, column: &str) -> String {
        self.cells.get(column).copied().unwrap_or_default().to_owned()
    }

    fn number(&self, column: &str) -> Result<Option<f64>, String> {
        let text = self.text(column);
        let number = || text.parse().ok().filter(|number: &f64| number.is_finite());
        if text.is_empty() {
            Ok(None)
        } else {
            number().map(Some).ok_or_else(|| format!("`{column}` = \"{text}\": expected a number"))
        }
    }

    fn some(&self, column: &str) -> Result<f64, String> {
        self.number(column)?.ok_or_else(|| format!("`{column}` is empty: expected a number"))
    }

    fn count(&self, column: &str) -> Result<Option<u64>, String> {
        let text = self.text(column);
        let wrong = |_| format!("`{column}` = \"{text}\": expected a whole number");
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(wrong) }
    }

    fn head(&self) -> Result<Head, String> {
        Ok(Head {
            experiment: self.text("experiment"),
            about: self.text("about"),
            machine: self.text("machine"),
            time_scale: self.some("time_scale")?,
            cache_scale: self.some("cache_scale")?,
            seed: 1,
            baseline: self.text("baseline"),
            contenders: Vec::new(),
        })
    }

    fn identity(&self) -> Identity {
        Identity {
            experiment: self.text("experiment_sha256"),
            machine: self.text("machine_sha256"),
            kernel: self.text("kernel_sha256"),
            qemu: self.text("qemu_sha256"),
            plugin: self.text("plugin_sha256"),
            image: self.text("image_sha256"),
        }
    }

    fn add(&self, sets: &mut Vec<Set>) -> Result<(), String> {
        let (head, identity) = (self.head()?, self.identity());
        let alike = |set: &Set| {
            set.identity == identity && (&set.head.experiment, &set.head.baseline) == (&head.experiment, &head.baseline)
        };
        let at = sets.iter().position(alike).unwrap_or(sets.len());
        if at == sets.len() {
            sets.push(Set { head, identity, boots: Vec::new() });
        }
        let set = &mut sets[at];
        let contender = self.text("contender");
        if !contender.is_empty() && !set.head.contenders.contains(&contender) {
            set.head.contenders.push(contender);
        }
        let counted = &mut self.boot(set)?.counted;
        let problem = self.text("problem");
        if problem.is_empty() {
            return self.job(counted);
        }
        counted.problems.push(problem);
        Ok(())
    }

    fn boot<'a>(&self, set: &'a mut Set) -> Result<&'a mut Taken, String> {
        let seed = self.count("seed")?.ok_or("`seed` is empty: expected a whole number")?;
        let at = set.boots.iter().position(|boot| boot.seed == seed).unwrap_or(set.boots.len());
        if at == set.boots.len() {
            let (command, commit, kernel) = (self.text("command"), self.text("commit"), self.text("kernel"));
            set.boots.push(Taken { seed, command, commit, kernel, counted: Counted::default() });
        }
        Ok(&mut set.boots[at])
    }

    fn job(&self, counted: &mut Counted) -> Result<(), String> {
        let (program, instance) = (self.text("program"), self.text("instance"));
        let job = if instance.is_empty() { program.clone() } else { format!("{program}#{instance}") };
        if let Some(alone) = self.number("alone_seconds")? {
            counted.alone.insert(program, alone);
        }
        let run = counted.runs.entry(self.text("contender")).or_default();
        run.seconds.insert(job.clone(), self.some("seconds")?);
        if let Some(slowdown) = self.number("slowdown")? {
            run.slowdowns.insert(job.clone(), slowdown);
        }
        if self.number("antt")?.is_some() {
            run.summary = fairness(&run.slowdowns.values().copied().collect::<Vec<_>>());
        }
        run.remote_share = self.number("remote_share")?;
        run.pages_migrated = self.count("pages_migrated")?;
        run.thread_migrations = self.count("thread_migrations")?;
        run.daemon_cpu_seconds = self.number("daemon_cpu_seconds")?;
        let latencies = self.cells.keys().filter(|name| name.ends_with("_us"));
        let latencies = latencies.map(|name| Ok(self.number(name)?.map(|us| ((*name).to_owned(), us))));
        let latencies: BTreeMap<_, _> = latencies.collect::<Result<Vec<_>, String>>()?.into_iter().flatten().collect();
        if !latencies.is_empty() {
            run.latencies_us.insert(job, latencies);
        }
        Ok(())
    }
}
