//! `numasim laws`: boots the machine twice side by side, lets programs measure it, and judges what
//! they report.

use super::print;
use crate::args::LawsArgs;
use numasim_lab::boot::{Host, Task, boot};
use numasim_lab::ending::Ending;
use numasim_lab::image::Contents;
use numasim_lab::laws::reading::Readings;
use numasim_lab::laws::{self, LAWS, MORE, Row, Verdict, script, speed, table};
use numasim_lab::scratch::Scratch;
use numasim_lab::{LabError, machine};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The laws that run on a machine with a TLB, unless others are asked for.
const TRANSLATED: [&str; 2] = ["translation", "repeatability"];
/// Names of the scripts in the guest's /bin.
const MEASURES: &str = "numasim-laws.sh";
const WORKS: &str = "numasim-work.sh";

/// Measures and judges. Returns 1 if a law fails.
pub fn run(args: &LawsArgs, interrupted: &AtomicBool) -> Result<u8, LabError> {
    known(&args.only)?;
    // If only repeatability is asked for, the readings of all laws are compared.
    let all = args.only.iter().all(|name| name == "repeatability");
    let more = args.full || args.only.iter().any(|name| MORE.contains(&name.as_str()));
    let machine = machine::named(&args.machine, args.scale.into())?;
    // The other laws assume that translations cost nothing.
    let walks = machine.spec.tlb.is_some();
    let usual = |law: &str| if walks { TRANSLATED.contains(&law) } else { more || !MORE.contains(&law) };
    let wanted = |law: &str| (all && usual(law)) || args.only.iter().any(|name| name == law);
    let scratch = Scratch::new()?;
    let folder = args.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    let add = [
        write(&scratch.path().join(MEASURES), &script::text(&laws::steps(&machine.spec, wanted)))?,
        write(&scratch.path().join(WORKS), &script::text(&speed::steps()))?,
    ];
    let contents = Contents { tools: true, add: add.into(), ..Contents::default() };
    let host = Host::new(machine, &contents, false, args.seconds)?.keeping(args.keep.is_some());

    let mut rows = Vec::new();
    let mut problems = Vec::new();
    if LAWS.into_iter().any(wanted) {
        let boots = if wanted("repeatability") { 2 } else { 1 };
        let readings = measured(&host, boots, &folder, interrupted)?;
        rows.extend(laws::judge(&host.spec, &readings[0], wanted));
        rows.extend(readings.get(1).map(|second| laws::repeatability(&readings[0], second)));
        problems.extend(readings.into_iter().flat_map(|one| one.problems));
    }
    if args.speed {
        rows.push(compare_speed(&host, &folder, interrupted)?);
    }
    show(&rows, &problems, args.json);
    Ok(u8::from(!problems.is_empty() || rows.iter().any(|row| row.verdict == Verdict::Fails)))
}

fn known(only: &[String]) -> Result<(), LabError> {
    match only.iter().find(|name| !LAWS.contains(&name.as_str())) {
        Some(name) => {
            Err(LabError::input("--only", format!("no law is called `{name}`; there are {}", LAWS.join(", "))))
        }
        None => Ok(()),
    }
}

fn show(rows: &[Row], problems: &[String], json: bool) {
    if json {
        print(&format!("{}\n", serde_json::json!({"rows": rows, "problems": problems})));
        return;
    }
    print(&table::text(rows));
    problems.iter().for_each(|problem| print(&format!("problem: {problem}\n")));
}

/// The readings of several boots, which run side by side.
fn measured(host: &Host, boots: usize, folder: &Path, interrupted: &AtomicBool) -> Result<Vec<Readings>, LabError> {
    let words = words(host, MEASURES);
    std::thread::scope(|scope| {
        let one = |at: usize| one(host, &words, &folder.join(format!("laws-{}", at + 1)), interrupted);
        let threads: Vec<_> = (0..boots).map(|at| scope.spawn(move || one(at))).collect();
        let failed = |_| Err(LabError::Boot("a thread that ran a boot did not finish".to_owned()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(failed)).collect()
    })
}

/// The command that runs a script on the observer's CPU.
fn words(host: &Host, script: &str) -> Vec<String> {
    let observer = host.spec.cpus().saturating_sub(1).to_string();
    ["taskset", "-c", &observer, "sh", &format!("/bin/{script}")].map(str::to_owned).to_vec()
}

fn one(host: &Host, words: &[String], folder: &Path, interrupted: &AtomicBool) -> Result<Readings, LabError> {
    let task = Task::Command { words, modelled: true, seed: 1, page_trace: false, resctrl: false };
    let booted = boot(host, &task, folder, interrupted)?;
    let mut readings = Readings::parse(&booted.remains.output);
    if booted.ending != Ending::Done {
        readings.problems.push(booted.ending.in_words(host.limit_seconds));
    } else if !readings.ended {
        readings.problems.push("the guest's script did not finish".to_owned());
    }
    Ok(readings)
}

fn compare_speed(host: &Host, folder: &Path, interrupted: &AtomicBool) -> Result<Row, LabError> {
    let variant = |plugin: Option<PathBuf>| {
        let mut host = host.clone();
        host.spec.delays = false;
        host.machine = machine::to_toml(&host.spec)?;
        host.image.plugin = plugin;
        Ok::<_, LabError>(host)
    };
    let (plain, with) = (variant(None)?, variant(host.image.plugin.clone())?);
    speed::speed([&plain, &with], &words(host, WORKS), folder, interrupted)
}

fn write(path: &Path, text: &str) -> Result<PathBuf, LabError> {
    std::fs::write(path, text).map_err(|error| LabError::io(path, error))?;
    Ok(path.to_owned())
}
