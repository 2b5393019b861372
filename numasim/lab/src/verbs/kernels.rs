//! `numasim kernels A B`: runs the same boots under two kernels, and shows what the second does to
//! completion times. Boots of the same seed are compared with each other.

use super::campaign::{self, BootOrder, Entry, Outcome};
use super::experiment::{Parts, Read, distinct, entries, results_folder};
use super::print;
use crate::args::{ExperimentArgs, KernelsArgs};
use numasim_guest::wire::Line;
use numasim_lab::experiment::{Contender, Experiment};
use numasim_lab::overview::overview;
use numasim_lab::plan;
use numasim_lab::scratch::Scratch;
use numasim_lab::summary::{Boot, Counted, Head, Summary, counted, together};
use numasim_lab::{LabError, fetch, image, report};
use std::sync::atomic::AtomicBool;

/// Compares two kernels. Returns 1 if a boot or a run did not count.
pub fn run(args: &KernelsArgs, interrupted: &AtomicBool) -> Result<u8, LabError> {
    let (kernel_a, kernel_b) = (fetch::kernel_named("kernel A", &args.a)?, fetch::kernel_named("kernel B", &args.b)?);
    if kernel_a == kernel_b {
        let problem = format!("is kernel A, too ({}): name another release or file", kernel_a.display());
        return Err(LabError::input("kernel B", problem));
    }
    let asked = experiments(args);
    let read = asked.files.iter().map(|file| stock(Read::of(file, &asked)?, args)).collect::<Result<Vec<_>, _>>()?;
    distinct(&read)?;
    results_folder(&asked)?;
    let scratch = Scratch::new()?;
    let folder = |kernel: &str| scratch.path().join(format!("kernel-{kernel}"));
    let mut parts = Parts::under(fetch::qemu()?, &kernel_a, &folder("A"))?;
    let under_a = read.iter().map(|read| parts.host(read, &asked)).collect::<Result<Vec<_>, _>>()?;
    let b = image::held(&kernel_b, &folder("B"))?;
    let under_b: Vec<_> = under_a.iter().map(|host| host.clone().under(b.clone(), kernel_b.clone())).collect();
    let a = entries(&read, &under_a, &scratch.path().join("A"), &asked)?;
    let b = entries(&read, &under_b, &scratch.path().join("B"), &asked)?;
    let all: Vec<Entry> = a.into_iter().zip(b).flat_map(|(a, b)| [of_kernel(a, "A"), of_kernel(b, "B")]).collect();
    let (outcomes, done) = campaign::run(&all, BootOrder::Pairs, args.jobs, interrupted);
    done?;
    let tables: Vec<Summary> =
        all.chunks(2).zip(outcomes.chunks(2)).flat_map(|(entries, outcomes)| compared(&entries[0], outcomes)).collect();
    show(args, &tables);
    Ok(u8::from(tables.iter().any(|table| !table.problems.is_empty())))
}

/// The entry, labelled for messages and results with its kernel.
fn of_kernel(mut entry: Entry, kernel: &str) -> Entry {
    entry.label = format!("{}, kernel {kernel}, ", entry.experiment.name);
    entry.name_kernel();
    entry
}

/// The arguments with which `numasim experiment` would be called for each kernel.
fn experiments(args: &KernelsArgs) -> ExperimentArgs {
    let usual = || vec![fetch::workspace().join("numasim/experiments/ci.toml")];
    ExperimentArgs {
        files: if args.files.is_empty() { usual() } else { args.files.clone() },
        json: args.json,
        until: None,
        budget: args.budget,
        results: args.results.clone(),
        shard: None,
        commit: None,
        svg: None,
        repeats: Some(args.repeats),
        jobs: args.jobs,
        only: args.only.clone(),
        daemon: Vec::new(),
        program: Vec::new(),
        host_files: None,
        seed: args.seed,
        keep: None,
        plain: false,
    }
}

/// Leaves out daemons and placement by hand, unless contenders are named: only the kernels are
/// compared.
fn stock(mut read: Read, args: &KernelsArgs) -> Result<Read, LabError> {
    if args.only.is_empty() {
        read.whole.compare_with = None;
        read.whole.contender.retain(|one| matches!(one, Contender::Linux { before: None, .. }));
        read.only = read.whole.contender.iter().map(Contender::name).collect();
    }
    if read.whole.contender.is_empty() {
        let problem = "contender: none is stock Linux (kind = \"linux\"): name what is to run with --only";
        return Err(LabError::input(&read.file.display().to_string(), problem));
    }
    Ok(read)
}

/// One table per contender: kernel A is the baseline, and B is compared with it.
fn compared(entry: &Entry, outcomes: &[Outcome]) -> Vec<Summary> {
    let Entry { experiment, options, host, .. } = entry;
    let names = ["A", "B"].map(str::to_owned);
    let names: Vec<String> = names.iter().zip(outcomes).map(|(name, outcome)| called(name, &outcome.boots)).collect();
    let contenders = plan::contenders(experiment, &options.only);
    let table = |(at, contender): (usize, &&Contender)| {
        let head = Head::of(experiment, &options.only, (host.spec.time_scale, host.spec.cache_scale));
        let head = Head {
            experiment: format!("{} under {}", experiment.name, contender.name()),
            baseline: names.first().cloned().unwrap_or_default(),
            contenders: names.clone(),
            ..head
        };
        together(&head, &pairs(experiment, &contender.name(), (&names, outcomes), at == 0))
    };
    contenders.iter().enumerate().map(table).collect()
}

/// The name of a kernel in tables: its letter, and the release that it reported.
fn called(letter: &str, boots: &[Boot]) -> String {
    let hello = |line: &Line| if let Line::Hello { kernel, .. } = line { Some(kernel.clone()) } else { None };
    let release = boots.iter().flat_map(|boot| &boot.lines).find_map(hello).unwrap_or_default();
    format!("{letter} {release}").trim().to_owned()
}

/// The runs of one contender under both kernels, boot by boot. Problems go into one table only.
fn pairs(
    experiment: &Experiment,
    contender: &str,
    (names, outcomes): (&[String], &[Outcome]),
    problems: bool,
) -> Vec<Counted> {
    let mut all: Vec<Counted> = Vec::new();
    for (name, outcome) in names.iter().zip(outcomes) {
        for mut boot in outcome.boots.iter().map(|boot| counted(experiment, boot)) {
            let at = all.iter().position(|other| other.repeat == boot.repeat).unwrap_or(all.len());
            if at == all.len() {
                all.push(Counted { repeat: boot.repeat, label: boot.label.clone(), ..Counted::default() });
            }
            all[at].runs.extend(boot.runs.remove(contender).map(|run| (name.clone(), run)));
            let told = boot.problems.iter().filter(|_| problems).map(|why| format!("kernel {name}: {why}"));
            all[at].problems.extend(told);
        }
    }
    all
}

/// Prints the tables, and one line over all of them; or one line of JSON per table.
fn show(args: &KernelsArgs, tables: &[Summary]) {
    if args.json {
        print(&tables.iter().map(|table| serde_json::to_string(table).unwrap_or_default() + "\n").collect::<String>());
        return;
    }
    print(&tables.iter().map(report::text).collect::<Vec<_>>().join("\n"));
    let named: Vec<(String, Summary)> = tables.iter().map(|table| (table.experiment.clone(), table.clone())).collect();
    for one in overview(&named) {
        let (worst, ratio) = &one.worst;
        print(&format!(
            "\n{}: {:.3} of the time under A over {} comparison(s); sooner in {}, later in {}, no difference shown in {}; \
             worst {ratio:.3} ({worst})\n",
            one.contender, one.time, one.experiments, one.sooner, one.later, one.not_shown
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numasim_lab::experiment::Scale;
    use numasim_lab::stats::Verdict;

    /// Recorded boots of Linux. Under kernel B all times are doubled.
    #[test]
    fn a_kernel_that_takes_twice_the_time_is_called_slow() {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
        let text = |name: &str| std::fs::read_to_string(format!("{fixtures}/{name}")).unwrap();
        let experiment = Experiment::parse(&text("mini.toml"), "mini.toml").unwrap();
        let spec = numasim_lab::machine::scaled(&experiment.machine, Scale::default()).unwrap();
        let boot = |repeat: u32, times: f64| {
            let lines = text(&format!("mini-{}.jsonl", repeat + 1));
            let mut lines: Vec<Line> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            for line in &mut lines {
                let Line::Run(ran) = line else { continue };
                for job in &mut ran.jobs {
                    let seconds = job.line.as_mut().unwrap().get_mut("seconds").unwrap();
                    *seconds = (seconds.as_f64().unwrap() * times).into();
                }
            }
            let order = plan::order(&experiment, &spec, repeat, &plan::Options::default()).unwrap();
            Boot { repeat, order, lines, problem: None }
        };
        let outcome = |times| Outcome { boots: vec![boot(0, times), boot(1, times)], stop: None };
        let outcomes = [outcome(1.0), outcome(2.0)];
        let names = ["A".to_owned(), called("B", &outcomes[1].boots)];
        assert_eq!(names[1], "B 6.12.95+deb12-cloud-amd64");
        let got = pairs(&experiment, "linux", (&names, &outcomes), true);
        let head =
            Head { baseline: "A".to_owned(), contenders: names.to_vec(), ..Head::of(&experiment, &[], (20.0, 16.0)) };
        let row = together(&head, &got).rows.remove(1);
        assert!((row.vs_baseline.unwrap().mean - 2.0).abs() < 1e-9 && row.vs_baseline.unwrap().pairs == 2, "{row:?}");
        assert_eq!(row.verdict, Some(Verdict::Later));
    }
}
