//! `numasim-counters [FILE] [--json] [--threads] [--watch SECONDS]`: prints the page of the guest
//! that it runs in, or of a file, either once as a table or as JSON, or as the counts of each
//! interval. It reads and never writes.

#![forbid(unsafe_code)]

use clap::Parser;
use numasim_page::{
    ClassFigures, CpuFigures, Guest, Header, LinkFigures, LlcFigures, Mapping, NodeFigures, PageError, Place, Snapshot,
    ThreadFigures,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Print what numasim's plugin counts: CPUs, threads, memory controllers, links, way classes.
#[derive(Parser)]
#[command(name = "numasim-counters", version)]
struct Args {
    /// The file behind the page (on the host); without it, the ivshmem device of this guest.
    file: Option<PathBuf>,
    /// Print JSON, one object a line.
    #[arg(long)]
    json: bool,
    /// Print what threads did, too: of all that have run, unless they are more than 2,048.
    #[arg(long)]
    threads: bool,
    /// Print what was counted, again after each interval of this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    watch: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|length| !length.is_zero()).ok_or_else(|| "expected a number of seconds above 0".to_owned())
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("numasim-counters: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Page(#[from] PageError),
    #[error("cannot write: {0}")]
    Output(io::Error),
}

fn run(args: &Args) -> Result<(), Failure> {
    let guest = Guest::open(args.file.as_deref().map_or_else(Mapping::device, Mapping::file)?)?;
    let header = guest.check()?;
    if args.threads && !guest.counts_threads() {
        return Err(PageError::NoThreads.into());
    }
    let threads = || if args.threads { guest.threads() } else { Ok(Vec::new()) };
    let Some(interval) = args.watch else { return print(&header, &guest.snapshot()?, &threads()?, args.json) };
    let mut before = (guest.snapshot()?, threads()?);
    loop {
        std::thread::sleep(interval);
        guest.check()?;
        let now = (guest.snapshot()?, threads()?);
        print(&header, &now.0.since(&before.0), &ThreadFigures::since(&now.1, &before.1), args.json)?;
        before = now;
    }
}

fn print(header: &Header, snapshot: &Snapshot, shown: &[ThreadFigures], as_json: bool) -> Result<(), Failure> {
    let text = if as_json { to_json(header, snapshot, shown).to_string() } else { table(header, snapshot, shown) };
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(Failure::Output)
}

fn table(header: &Header, snapshot: &Snapshot, shown: &[ThreadFigures]) -> String {
    let mut text = heading(header, snapshot);
    cpus(&mut text, header, snapshot);
    nodes(&mut text, header, snapshot);
    links(&mut text, snapshot);
    classes(&mut text, snapshot);
    threads(&mut text, shown);
    text.truncate(text.trim_end().len());
    text
}

fn heading(header: &Header, snapshot: &Snapshot) -> String {
    let (cpus, nodes, llcs) = (header.cpus.len(), header.nodes.len(), header.llcs.len());
    let delays = if header.delays { "" } else { ", delays off" };
    format!(
        "{cpus} CPUs of {} kHz, {nodes} nodes, {llcs} last-level caches, {} classes of service{delays}; \
         guest time {} us\n",
        header.clock_khz,
        header.classes,
        snapshot.time_ns / 1000
    )
}

/// `fmt::Write` into a `String` never fails, here and below.
fn cpus(text: &mut String, header: &Header, snapshot: &Snapshot) {
    let _ = writeln!(
        text,
        "{:>4} {:>4} {:>3} {:>15} {:>15} {:>13} {:>13} {:>13} {:>13} {:>9}",
        "cpu", "node", "llc", "instructions", "cycles", "references", "misses", "local misses", "bytes", "stalled"
    );
    for (at, (place, cpu)) in header.cpus.iter().zip(&snapshot.cpus).enumerate() {
        let local = cpu.misses_by_node.get(place.node).map_or_else(|| "-".to_owned(), u64::to_string);
        let _ = writeln!(
            text,
            "{at:>4} {:>4} {:>3} {:>15} {:>15} {:>13} {:>13} {local:>13} {:>13} {:>9}",
            place.node,
            place.llc,
            cpu.instructions,
            cpu.cycles,
            cpu.llc_references,
            cpu.llc_misses,
            cpu.bytes_read.saturating_add(cpu.bytes_written),
            percent(cpu.stall_ps, cpu.busy_ps)
        );
    }
}

fn nodes(text: &mut String, header: &Header, snapshot: &Snapshot) {
    let _ = writeln!(
        text,
        "{:>4} {:>15} {:>15} {:>9} {:>12} {:>13} {:>13} {:>13}",
        "node", "bytes read", "bytes written", "busy", "delay ns", "from local", "from remote", "MB/s at most"
    );
    for (at, (capacity, node)) in header.nodes.iter().zip(&snapshot.nodes).enumerate() {
        let _ = writeln!(
            text,
            "{at:>4} {:>15} {:>15} {:>9} {:>12} {:>13} {:>13} {:>13}",
            node.bytes_read,
            node.bytes_written,
            percent(node.busy_ps, snapshot.time_ns.saturating_mul(1000)),
            node.delay_ps / 1000,
            node.from_local,
            node.from_remote,
            capacity / 1_000_000
        );
    }
}

/// Links that carried nothing are left out.
fn links(text: &mut String, snapshot: &Snapshot) {
    for ((from, to), link) in snapshot.links.iter().filter(|(_, link)| link.bytes > 0) {
        let busy = percent(link.busy_ps, snapshot.time_ns.saturating_mul(1000));
        let delay = link.delay_ps / 1000;
        let _ = writeln!(text, "link {from} -> {to}: {} bytes, busy {busy}, delay {delay} ns", link.bytes);
    }
}

/// Classes that hold nothing and have moved nothing are left out.
fn classes(text: &mut String, snapshot: &Snapshot) {
    for (llc, classes) in snapshot.classes.iter().enumerate() {
        for (class, figures) in classes.iter().enumerate() {
            if figures.occupancy > 0 || figures.total_bytes > 0 {
                let (total, local) = (figures.total_bytes, figures.local_bytes);
                let held = figures.occupancy;
                let _ =
                    writeln!(text, "llc {llc} class {class}: holds {held} bytes, moved {total}, {local} of them local");
            }
        }
    }
}

/// Threads that have executed nothing are left out.
fn threads(text: &mut String, threads: &[ThreadFigures]) {
    let ran: Vec<_> = threads.iter().filter(|thread| thread.instructions > 0).collect();
    if !ran.is_empty() {
        let _ = writeln!(
            text,
            "{:>7} {:<16} {:>15} {:>15} {:>13} {:>13} {:>13}",
            "thread", "name", "instructions", "cycles", "references", "misses", "bytes"
        );
    }
    for thread in ran {
        let _ = writeln!(
            text,
            "{:>7} {:<16} {:>15} {:>15} {:>13} {:>13} {:>13}",
            thread.tid,
            thread.name(),
            thread.instructions,
            thread.cycles,
            thread.llc_references,
            thread.llc_misses,
            thread.bytes_read.saturating_add(thread.bytes_written)
        );
    }
}

/// Whole per cent, rounded down; `-` if `whole` is zero.
fn percent(part: u64, whole: u64) -> String {
    let share = u128::from(part) * 100;
    share.checked_div(u128::from(whole)).map_or_else(|| "-".to_owned(), |share| format!("{share} %"))
}

fn to_json(header: &Header, snapshot: &Snapshot, shown: &[ThreadFigures]) -> Value {
    let cpus = header.cpus.iter().zip(&snapshot.cpus).enumerate();
    let nodes = snapshot.nodes.iter().enumerate();
    let llcs = header.llcs.iter().zip(&snapshot.classes).enumerate();
    let cpu = |(at, (place, cpu)): (usize, (&Place, &CpuFigures))| {
        let by_node = cpu.misses_by_node.iter().take(header.nodes.len()).collect::<Vec<_>>();
        joined([json!({"cpu": at}), json!(place), json!(cpu), json!({"misses_by_node": by_node})])
    };
    let node = |(at, node): (usize, &NodeFigures)| {
        joined([json!({"node": at, "bytes_per_second": node.bytes_per_second}), json!(node)])
    };
    let link =
        |((from, to), link): (&(usize, usize), &LinkFigures)| joined([json!({"from": from, "to": to}), json!(link)]);
    let llc = |(at, (llc, classes)): (usize, (&LlcFigures, &Vec<ClassFigures>))| {
        joined([json!({"llc": at}), json!(llc), json!({"classes": classes})])
    };
    let thread = |thread: &ThreadFigures| joined([json!(thread), json!({"name": thread.name()})]);
    let mut whole = json!({
        "time_ns": snapshot.time_ns,
        "modelling": snapshot.modelling,
        "clock_khz": header.clock_khz,
        "window_ns": header.window_ns,
        "line_bytes": header.line_bytes,
        "delays": header.delays,
        "cpus": cpus.map(cpu).collect::<Value>(),
        "nodes": nodes.map(node).collect::<Value>(),
        "links": snapshot.links.iter().map(link).collect::<Value>(),
        "llcs": llcs.map(llc).collect::<Value>(),
    });
    if !shown.is_empty() {
        whole["threads"] = shown.iter().map(thread).collect();
    }
    whole
}

/// One object with the members of several; of two members with the same name, the later one.
fn joined<const N: usize>(objects: [Value; N]) -> Value {
    let members =
        objects.into_iter().filter_map(|object| if let Value::Object(map) = object { Some(map) } else { None });
    Value::Object(members.flatten().collect())
}
