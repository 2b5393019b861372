//! The double as a program: mounts, waits, unmounts. It ends by itself after the given time, and at
//! SIGTERM or SIGINT, and prints when it has mounted.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use isobar_resctrl_double::{Fault, Machine, Mounted, ProcThreads, Resctrl, TrafficFile};
use signal_hook::consts::{SIGINT, SIGTERM};

/// Mounts a resctrl file system that is none: for tests of programs that drive resctrl, where no
/// hardware for it is.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Example:\n  isobar-resctrl-double --mount /tmp/resctrl --machine 'domains=0:0-3/2:4-7;ways=11;closids=8' --for 60 &\n  mkdir /tmp/resctrl/web && echo 'L3:0=3' > /tmp/resctrl/web/schemata"
)]
struct Arguments {
    /// The folder to mount on.
    #[arg(long, value_name = "DIR")]
    mount: PathBuf,
    /// The machine that is pretended.
    #[arg(long, value_name = "SPEC", default_value = "domains=0:0", value_parser = Machine::parse)]
    machine: Machine,
    /// Ends by itself after this many seconds.
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 600)]
    seconds: u64,
    /// Bytes by task and domain, read whenever counters are: lines of
    /// `TID DOMAIN OCCUPANCY TOTAL LOCAL`.
    #[arg(long, value_name = "FILE")]
    counters: Option<PathBuf>,
    /// Appends a line for every requested operation.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// A fault, as OPERATION:PATH:NTH:MISHAP, such as `write:*/schemata:2:EBUSY`,
    /// `mkdir:*:1:take-closids`, `write:*/tasks:1:tasks-die` or `write:*/tasks:3:unmount`; may be
    /// given often.
    #[arg(long, value_name = "FAULT", value_parser = Fault::parse)]
    fault: Vec<Fault>,
    /// Ways of an L3 domain that another tool holds pseudo-locked, as DOMAIN=HEX.
    #[arg(long, value_name = "DOMAIN=HEX", value_parser = locked_ways)]
    pseudo_locked: Option<(u32, u32)>,
}

fn locked_ways(text: &str) -> Result<(u32, u32), String> {
    let parts = text
        .split_once('=')
        .and_then(|(domain, ways)| Some((domain.parse().ok()?, u32::from_str_radix(ways, 16).ok()?)));
    parts.ok_or_else(|| format!("`{text}`: DOMAIN=HEX, such as 0=3"))
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("isobar-resctrl-double: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut resctrl = Resctrl::new(arguments.machine, Box::new(ProcThreads));
    arguments.fault.into_iter().for_each(|fault| resctrl.plan(fault));
    if let Some(file) = arguments.counters {
        resctrl.read_traffic_from(TrafficFile(file));
    }
    if let Some((domain, ways)) = arguments.pseudo_locked {
        resctrl.pseudo_lock("other-tool-locked", domain, ways);
    }
    let mut journal = arguments.journal.map(|path| File::options().create(true).append(true).open(path)).transpose()?;
    let mounted = Mounted::on(&arguments.mount, resctrl)?;
    println!("mounted on {}", mounted.folder().display());
    let end = Instant::now() + Duration::from_secs(arguments.seconds);
    let mut written = 0;
    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
        written += write_journal(&mounted, journal.as_mut(), written)?;
    }
    write_journal(&mounted, journal.as_mut(), written)?;
    Ok(())
}

/// Appends what was done since; how many lines that were.
fn write_journal(mounted: &Mounted, journal: Option<&mut File>, written: usize) -> std::io::Result<usize> {
    let Some(journal) = journal else { return Ok(0) };
    let new = mounted
        .with(|state| state.journal().iter().skip(written).map(|entry| format!("{entry}\n")).collect::<Vec<_>>());
    journal.write_all(new.concat().as_bytes())?;
    Ok(new.len())
}
