//! Executes one run: set up, start together, watch, end, count. The top function has the order of
//! events.

use crate::before;
use crate::daemon;
use crate::job::Running;
use crate::page::Machine;
use crate::resctrl::Resctrl;
use crate::{delta, procfs};
use anyhow::Context;
use numasim_guest::counters::Counters;
use numasim_guest::wire::{Ran, Run, SetupResult};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The switch of automatic NUMA balancing (Documentation/admin-guide/sysctl/kernel.rst).
const BALANCING: &str = "/proc/sys/kernel/numa_balancing";
/// The switch of transparent huge pages (Documentation/admin-guide/mm/transhuge.rst).
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// The folder for the files of a run.
const FOLDER: &str = "/tmp/run";
/// Interval at which jobs are checked for their end, and the interval, in seconds, at which their
/// threads and pages are read, which costs the guest more.
const TICK: Duration = Duration::from_millis(10);
const LOOK_SECONDS: f64 = 1.0;
/// Time for which jobs that begin on given CPUs are held there after the start. Until then most of
/// them sleep, and the kernel would crowd them together.
const LET_GO_AFTER: Duration = Duration::from_millis(20);

/// Executes a run. Errors of its jobs are part of the result.
///
/// # Errors
/// An error concerns the guest, and so all runs that would follow.
pub fn run(asked: &Run, limit_seconds: f64, machine: &Machine) -> anyhow::Result<Ran> {
    let folder = Path::new(FOLDER);
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).context(FOLDER)?;
    let start_file = folder.join("start");
    let (nodes, until) = (procfs::nodes(), procfs::now() + limit_seconds);

    std::fs::write(BALANCING, if asked.regime.numa_balancing { "1" } else { "0" }).context(BALANCING)?;
    if asked.regime.no_huge_pages {
        std::fs::write(HUGE_PAGES, "never").context(HUGE_PAGES)?;
    }
    let mut problem = None;
    let mut jobs = Vec::new();
    for job in &asked.jobs {
        let mut job = Running::start(job, folder, &start_file)?;
        problem = problem.or(job.set_up(until, nodes).err());
        jobs.push(job);
    }
    let resctrl = Resctrl::begin(asked.regime.resctrl, folder).unwrap_or_else(|why| {
        problem = problem.take().or(Some(why));
        None
    });
    let before = prepare(asked, &mut jobs, folder, until, nodes, &mut problem);
    let pids: Vec<u32> = jobs.iter().map(|job| job.child.pid()).collect();
    let daemon = match asked.regime.daemon.as_ref().map(|daemon| daemon::start(daemon, &pids, folder)).transpose() {
        Ok(daemon) => daemon,
        Err(error) => {
            problem = problem.or(Some(format!("the daemon cannot be started: {error:#}")));
            None
        }
    };
    if let Some(daemon) = &asked.regime.daemon {
        std::thread::sleep(Duration::try_from_secs_f64(daemon.lead_seconds).unwrap_or_default());
    }

    machine.empty()?;
    if resctrl.is_none() {
        machine.ways(&asked.ways)?;
    }
    let begun = Before { counters: machine.counters()?, vmstat: procfs::vmstat()?, clock: procfs::now() };
    std::fs::write(&start_file, "").context("start file")?;
    std::thread::sleep(LET_GO_AFTER);
    jobs.iter().for_each(Running::let_go);
    if problem.is_none() {
        problem = watch(&mut jobs, until, nodes);
    }
    let seconds = procfs::now() - begun.clock;
    let (counters, vmstat) = (delta(begun.counters, machine.counters()?), since(&begun.vmstat, &procfs::vmstat()?));

    let daemon = daemon.map(daemon::Running::end);
    let problem = problem.or(resctrl.and_then(Resctrl::end));
    let jobs = jobs.into_iter().map(Running::finish).collect();
    Ok(Ran { id: asked.id.clone(), jobs, seconds, problem, counters, vmstat, daemon, before })
}

/// Runs the commands that come before the measured part, if there are any and nothing has failed.
fn prepare(
    asked: &Run,
    jobs: &mut [Running<'_>],
    folder: &Path,
    until: f64,
    nodes: usize,
    problem: &mut Option<String>,
) -> Option<SetupResult> {
    if asked.regime.before.is_empty() || problem.is_some() {
        return None;
    }
    let ran = before::run(&asked.regime.before, jobs, folder, until).map_err(|why| *problem = Some(why)).ok();
    jobs.iter_mut().for_each(|job| job.begin(nodes));
    ran
}

/// The counters at the beginning of the measured part.
struct Before {
    counters: Option<Counters>,
    vmstat: BTreeMap<String, u64>,
    clock: f64,
}

/// Waits until all measured jobs have ended. Returns why the run does not count, if it does not.
fn watch(jobs: &mut [Running<'_>], until: f64, nodes: usize) -> Option<String> {
    let mut next_look = procfs::now() + LOOK_SECONDS;
    let mut seen_last = vec![false; jobs.len()];
    loop {
        let now = procfs::now();
        let (mut left, mut groups) = (0, None);
        for (job, seen) in jobs.iter_mut().zip(&mut seen_last) {
            let ended = job.child.ended();
            if (ended && !*seen) || (!ended && now >= next_look) {
                job.look(groups.get_or_insert_with(procfs::groups), nodes);
                *seen = ended;
            }
            left += usize::from(!ended && !job.background());
        }
        if left == 0 {
            return None;
        }
        if now >= until {
            return Some(format!("{left} of its jobs did not finish in time"));
        }
        if now >= next_look {
            next_look = now + LOOK_SECONDS;
        }
        std::thread::sleep(TICK);
    }
}

fn since(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let old = |name: &String| before.get(name).copied().unwrap_or_default();
    after.iter().map(|(name, now)| (name.clone(), now.saturating_sub(old(name)))).collect()
}
