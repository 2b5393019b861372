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
use isobar_resctrl_double::{Fault, FaultEffect, Machine, Mounted, Operation};
use signal_hook::consts::{SIGINT, SIGTERM};

/// Mounts a resctrl file system that is none: for tests of programs that drive resctrl, where no
/// hardware for it is.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Example:\n  isobar-resctrl-double --mount /tmp/resctrl --domains 0,2 --for 60 &\n  mkdir \
                  /tmp/resctrl/web && echo 'L3:0=3' > /tmp/resctrl/web/schemata"
)]
struct Arguments {
    /// The folder to mount on.
    #[arg(long, value_name = "DIR")]
    mount: PathBuf,
    /// The ids of the L3 domains.
    #[arg(long, value_name = "ID,ID", value_delimiter = ',', default_value = "0")]
    domains: Vec<u32>,
    /// CLOSIDs, the default group's included.
    #[arg(long, value_name = "N", default_value_t = 16)]
    closids: u32,
    /// With memory-bandwidth allocation.
    #[arg(long)]
    bandwidth: bool,
    /// Ends by itself after this many seconds.
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 600)]
    seconds: u64,
    /// Appends a line for every operation that was to change something.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Before the first group with such a path is made, another tool takes all CLOSIDs; `*` stands
    /// for any characters.
    #[arg(long, value_name = "PATH")]
    take_closids: Option<String>,
    /// After the first write to such a path the mount vanishes, as with `umount -l`.
    #[arg(long, value_name = "PATH")]
    unmount: Option<String>,
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
    let Arguments { mount, domains, closids, bandwidth, seconds, journal, take_closids, unmount } = arguments;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut journal = journal.map(|path| File::options().create(true).append(true).open(path)).transpose()?;
    let mounted = Mounted::on(&mount, Machine { closids, bandwidth, ..Machine::with_domains(domains) })?;
    let taken = take_closids.map(|path| Fault::at(Operation::Mkdir, &path, FaultEffect::TakeClosids));
    let gone = unmount.map(|path| Fault::at(Operation::Write, &path, FaultEffect::Unmount));
    taken.into_iter().chain(gone).for_each(|fault| mounted.plan(fault));
    println!("mounted on {}", mounted.folder().display());
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut written = 0;
    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
        written += write_journal(&mounted, journal.as_mut(), written)?;
    }
    write_journal(&mounted, journal.as_mut(), written)?;
    Ok(())
}

/// Appends the operations since the last call, and returns the number of lines.
fn write_journal(mounted: &Mounted, journal: Option<&mut File>, written: usize) -> std::io::Result<usize> {
    let Some(journal) = journal else { return Ok(0) };
    let new = mounted.journal().split_off(written);
    new.iter().try_for_each(|entry| writeln!(journal, "{entry:?}"))?;
    Ok(new.len())
}
