//! The director: the only child of the guest's first process. It reads the order, executes its runs
//! one after another, and reports the result of each over virtio-serial. `director run` follows
//! /etc/order.json; `director boot -- CMD...` runs one command on the modelled machine.
//!
//! It knows processes, CPUs and files. It knows no policies and does not judge results; numasim
//! does both on the host.

#![forbid(unsafe_code)]

mod before;
mod bring;
mod daemon;
mod job;
mod page;
mod port;
mod procfs;
mod resctrl;
mod run;
mod switches;
mod traced;

use anyhow::Context;
use numasim_guest::counters::Counters;
use numasim_guest::wire::{
    JobRan, Line, ORDER_FILE, OUTPUT_PORT, Order, PAGE_TRACE, RESULTS_PORT, Ran, VERDICT_DONE, VERDICT_FAILED,
    WITH_RESCTRL,
};
use port::Port;
use resctrl::Resctrl;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

fn main() -> ExitCode {
    let mut port = match Port::open(RESULTS_PORT) {
        Ok(port) => port,
        Err(error) => {
            eprintln!("director: {error:#}");
            return verdict(VERDICT_FAILED);
        }
    };
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((verb, [])) if verb == "run" => follow(&mut port),
        Some((verb, command)) if verb == "boot" => boot(&mut port, command),
        _ => Err(anyhow::anyhow!("director: expected `run` or `boot COMMAND ...`, not {words:?}")),
    };
    let sent = match &done {
        Ok(()) => port.notify(&Line::Done),
        Err(error) => port.notify(&Line::Failed { why: format!("{error:#}") }),
    };
    verdict(if done.is_ok() && sent.is_ok() { VERDICT_DONE } else { VERDICT_FAILED })
}

/// The first process passes the verdict on to QEMU; see guest/init.
fn verdict(value: i32) -> ExitCode {
    ExitCode::from(u8::try_from(value).unwrap_or(1))
}

fn follow(port: &mut Port) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(ORDER_FILE).with_context(|| ORDER_FILE.to_owned())?;
    let order: Order = serde_json::from_str(&text).with_context(|| ORDER_FILE.to_owned())?;
    port.notify(&hello()?)?;
    let machine = page::Machine::begin(order.modelled)?;
    for one in &order.runs {
        let mut ran = run::run(one, order.limit_seconds, &machine)?;
        bring::bring(one, &mut ran, port)?;
        port.notify(&Line::Run(Box::new(ran)))?;
    }
    Ok(())
}

fn hello() -> anyhow::Result<Line> {
    let read =
        |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).with_context(|| path.to_owned());
    Ok(Line::Hello { kernel: read("/proc/sys/kernel/osrelease")?, online: read("/sys/devices/system/cpu/online")? })
}

/// Runs a command. Its output is sent unchanged, then what the machine counted meanwhile.
fn boot(port: &mut Port, command: &[String]) -> anyhow::Result<()> {
    let (plain, command) = without(command, "--plain");
    let (traced, command) = without(command, PAGE_TRACE);
    let (with_resctrl, command) = without(command, WITH_RESCTRL);
    let (program, arguments) = command.split_first().context("director boot: no command")?;
    port.notify(&hello()?)?;
    let output = Port::open(OUTPUT_PORT)?;
    let machine = page::Machine::begin(!plain)?;
    let resctrl = Resctrl::begin(with_resctrl, Path::new("/tmp")).map_err(anyhow::Error::msg)?;
    let (before, clock) = (machine.counters()?, procfs::now());
    let mut child = Command::new(program);
    child.args(arguments).stdout(output.file()?).stderr(output.file()?);
    let status = if traced {
        machine.control("trace-begin")?;
        let ended = traced::run(&mut child).with_context(|| program.clone())?;
        machine.control("trace-end")?;
        ended.pages.map_or(Ok(()), |pages| port.notify(&Line::Pages(Box::new(pages))))?;
        ended.status
    } else {
        child.status().with_context(|| program.clone())?.code()
    };
    let seconds = procfs::now() - clock;
    let counters = delta(before, machine.counters()?);
    let trouble = resctrl.and_then(Resctrl::end);
    let ran = Ran {
        id: command.join(" "),
        // The time between both readings of the counters; with any other time, CPUs might be busy
        // for longer than the run.
        seconds: counters.as_ref().map_or(seconds, |counted| Duration::from_nanos(counted.time_ns).as_secs_f64()),
        counters,
        problem: (status != Some(0)).then(|| format!("{program}: {}", how(status))).or(trouble),
        jobs: Vec::<JobRan>::new(),
        vmstat: procfs::vmstat()?,
        daemon: None,
        before: None,
    };
    port.notify(&Line::Run(Box::new(ran)))
}

/// Whether a list of words begins with this word, and the words after it.
fn without<'a>(words: &'a [String], first: &str) -> (bool, &'a [String]) {
    match words.split_first() {
        Some((word, rest)) if word == first => (true, rest),
        _ => (false, words),
    }
}

fn how(status: Option<i32>) -> String {
    status.map_or_else(|| "ended by a signal".to_owned(), |status| format!("exit status: {status}"))
}

/// What was counted between two readings.
fn delta(before: Option<Counters>, after: Option<Counters>) -> Option<Counters> {
    Some(after?.since(&before?))
}
