//! `numasim-resctrl`: mounts a file system on `/sys/fs/resctrl` of a guest. The file system behaves
//! like the kernel's resctrl (isobar-resctrl-double), and its groups control the machine that the
//! plugin models. The program ends at SIGTERM or SIGINT, and then gives every CPU all ways again.
//!
//! A group's RMID is a class of service of the page, with the ways of the group's CLOSID. Each
//! group, monitor groups included, is therefore counted by itself. This program knows files,
//! classes, CPUs and threads, and nothing of what a group is for.

#![forbid(unsafe_code)]

mod domains;
mod face;
mod ways;

use anyhow::Context;
use clap::Parser;
use domains::Domains;
use isobar_resctrl_double::{Event, Machine, Mounted};
use numasim_page::{Guest, Mapping};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ways::{Shared, Ways};

/// Give this guest of numasim a resctrl whose groups have the ways of the modelled machine.
#[derive(Debug, Parser)]
#[command(
    name = "numasim-resctrl",
    version,
    after_help = "Example:
  numasim-resctrl & sleep 1
  mkdir /sys/fs/resctrl/few && echo 'L3:0=3' > /sys/fs/resctrl/few/schemata
  echo $PID > /sys/fs/resctrl/few/tasks"
)]
struct Args {
    /// The folder to mount on.
    #[arg(long, value_name = "DIR", default_value = face::RESCTRL)]
    mount: PathBuf,
    /// The file behind the page; without it, the ivshmem device of this guest.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Where the kernel lists CPUs and their caches.
    #[arg(long, value_name = "DIR", default_value = "/sys/devices/system/cpu")]
    cpus: PathBuf,
}

/// Interval at which new threads of groups are looked for.
const FOLLOW: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("numasim-resctrl: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("signals")?;
    }
    let page = Guest::open(args.page.as_deref().map_or_else(Mapping::device, Mapping::file)?)?;
    page.check()?;
    let domains = Domains::read(&args.cpus, page.header())?;
    let machine = machine(&domains, page.header().classes);
    if args.mount.as_os_str() == face::RESCTRL {
        face::make_folder()?;
        face::tell_tools(&args.cpus, &domains)?;
    }
    let ways = Shared::new(Ways::new(page, domains, machine.all_ways()));
    let mounted = Mounted::on(&args.mount, machine)?;
    mounted.with(|state| state.attach(Box::new(ways.clone())));
    println!("mounted on {}", mounted.folder().display());
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(FOLLOW);
        mounted.with(isobar_resctrl_double::Resctrl::follow);
    }
    drop(mounted);
    Ok(ways.put_back()?)
}

/// The machine as resctrl describes it. All domains have the number of ways of the cache that has
/// fewest. Half of the page's classes are for control groups, so that RMIDs are left for monitor
/// groups even if a tool makes all possible control groups.
fn machine(domains: &Domains, classes: usize) -> Machine {
    let classes = u32::try_from(classes).unwrap_or(u32::MAX);
    Machine {
        ways: domains.ways().min(32),
        cpus: domains.cpus().collect(),
        closids: classes.div_ceil(2),
        rmids: classes,
        events: [Event::Occupancy, Event::TotalBytes, Event::LocalBytes].into(),
        ..Machine::with_domains(domains.ids())
    }
}
