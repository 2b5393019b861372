//! `numasim boot`: runs one command on the machine, and shows what the machine counted.

use super::print;
use crate::args::BootArgs;
use numasim_guest::counters::Counters;
use numasim_guest::wire::{Line, RESCTRL, Ran};
use numasim_lab::boot::{Host, Task, boot};
use numasim_lab::ending::Ending;
use numasim_lab::image::Contents;
use numasim_lab::metrics::remote_share;
use numasim_lab::scratch::Scratch;
use numasim_lab::{LabError, machine, page_trace, recipe};
use numasim_model::num;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Boots, runs the command, and shows the results. The exit code is 0 if the command's was.
pub fn run(args: &BootArgs, interrupted: &AtomicBool) -> Result<u8, LabError> {
    if args.command.first().is_some_and(String::is_empty) {
        return Err(LabError::input("the command", "is empty: write it behind --, such as `-- chase --size-kib 256`"));
    }
    let packages = args.package.iter().cloned().chain(args.resctrl.then(|| RESCTRL.to_owned())).collect();
    let recipes = recipe::named_by(&args.command.join(" ")).map(str::to_owned).into_iter().collect();
    let contents = Contents { packages, tools: true, add: args.add.clone(), recipes, ..Contents::default() };
    let machine = machine::named(&args.machine, args.scale.into())?;
    let host = Host::new(machine, &contents, args.plain, args.seconds)?.keeping(args.keep.is_some());
    let host = host.kernel_scaled(args.scaled_kernel);
    let scratch = Scratch::new()?;
    let folder: PathBuf = args.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    let (modelled, page_trace) = (!args.plain, args.page_trace.is_some());
    let task = Task::Command { words: &args.command, modelled, seed: args.seed, page_trace, resctrl: args.resctrl };
    let booted = boot(&host, &task, &folder, interrupted)?;
    let output = &booted.remains.output;
    let ran = booted.remains.lines.iter().find_map(Line::ran);
    if let Some(to) = &args.page_trace {
        page_trace::write(&host.spec, &args.command, &booted.remains.lines, &folder, to)?;
    }
    if args.json {
        print(&format!(
            "{}\n",
            serde_json::json!({"output": output, "ran": ran, "problem": problem(&booted.ending, args)})
        ));
    } else {
        print(output);
        print(&ran.map(shown).unwrap_or_default());
    }
    match booted.ending {
        Ending::Done => Ok(u8::from(ran.is_none_or(|ran| ran.problem.is_some()))),
        ending => Err(LabError::Boot(ending.in_words(args.seconds))),
    }
}

fn problem(ending: &Ending, args: &BootArgs) -> Option<String> {
    (*ending != Ending::Done).then(|| ending.in_words(args.seconds))
}

/// What the machine counted, as text.
fn shown(ran: &Ran) -> String {
    let mut text = format!("\n-- {:.3} s of guest time", ran.seconds);
    ran.problem.iter().for_each(|problem| _ = write!(text, "; {problem}"));
    text.push('\n');
    ran.counters.iter().for_each(|all| counters(&mut text, all));
    text
}

fn counters(text: &mut String, all: &Counters) {
    let head = ["node", "instructions", "LLC refs", "LLC misses", "remote", "read MB", "written MB", "busy s"];
    let _ = write!(text, "{:>4}", "cpu");
    head.iter().for_each(|name| _ = write!(text, "{name:>13}"));
    text.push('\n');
    for (at, cpu) in all.cpus.iter().enumerate() {
        let share = remote_share(all, |other| other == at)
            .map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0));
        let mega = |bytes: u64| format!("{:.1}", num::float(bytes) / 1e6);
        let cells = [
            cpu.node.to_string(),
            cpu.instructions.to_string(),
            cpu.llc_references.to_string(),
            cpu.llc_misses.to_string(),
            share,
            mega(cpu.bytes_read),
            mega(cpu.bytes_written),
            format!("{:.3}", num::float(cpu.busy_ps) / 1e12),
        ];
        let _ = write!(text, "{at:>4}");
        cells.iter().for_each(|cell| _ = write!(text, "{cell:>13}"));
        text.push('\n');
    }
}
