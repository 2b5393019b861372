//! Child processes of the director. Each has its own process group, writes output and errors to
//! files, and is ended together with whatever it started.

use crate::procfs;
use anyhow::Context;
use numasim_guest::wire::{Job, JobRan};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Seconds to wait until threads are on their CPUs. Threads that wait for their start wake every
/// millisecond; a thread that sleeps longer is not waited for.
const BROUGHT_WITHIN: f64 = 0.5;

/// A process, and the files that it writes.
pub struct Child {
    process: std::process::Child,
    group: Pid,
    out: PathBuf,
    err: PathBuf,
    how: Option<ExitStatus>,
}

impl Child {
    /// Starts a command; its output and errors go to files in `folder`.
    pub fn start(name: &str, argv: &[String], folder: &Path) -> anyhow::Result<Self> {
        let (out, err) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
        let (program, arguments) = argv.split_first().context("a job without a command")?;
        let create = |path: &Path| File::create(path).with_context(|| path.display().to_string());
        let mut command = Command::new(program);
        command.args(arguments).process_group(0).stdout(create(&out)?).stderr(create(&err)?);
        let process = command.spawn().with_context(|| program.clone())?;
        let group = i32::try_from(process.id()).ok().and_then(Pid::from_raw).context("a process without an id")?;
        Ok(Self { process, group, out, err, how: None })
    }

    /// Its process id, which is also the id of its group.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Whether the process has ended. Its entry in `/proc` remains until [`Child::reap`], so that
    /// its last counts can be read.
    pub fn ended(&mut self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        self.how.is_some() || !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    /// Takes the exit status, after which the process vanishes from `/proc`. Waits if it has not
    /// ended.
    pub fn reap(&mut self) {
        self.how = self.how.or_else(|| self.process.wait().ok());
    }

    /// Waits until the process ends or the time has come; returns whether it ended.
    pub fn wait_until(&mut self, time: f64) -> bool {
        while !self.ended() {
            if procfs::now() >= time {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Sends a signal to all processes of its group.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
    }

    /// Kills all processes of its group.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.reap();
    }

    /// How it ended, in words.
    pub fn how(&mut self) -> String {
        self.reap();
        let status = self.how.map_or_else(|| "its status is unknown".to_owned(), |how| how.to_string());
        let errors = self.errors();
        let said = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        if said.is_empty() { status } else { format!("{status}: {said}") }
    }

    /// Why the process does not count; `None` if it succeeded.
    pub fn problem(&mut self) -> Option<String> {
        self.reap();
        (!self.how.is_some_and(|how| how.success())).then(|| self.how())
    }

    /// What it wrote to its standard output.
    pub fn output(&self) -> String {
        text_of(&self.out)
    }

    /// What it wrote to its standard error.
    pub fn errors(&self) -> String {
        text_of(&self.err)
    }
}

fn text_of(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
}

/// Whatever happens, no child outlives its run.
impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A job of a run.
pub struct Running<'a> {
    asked: &'a Job,
    /// Its process.
    pub child: Child,
    ready: PathBuf,
    /// Migrations of every thread that was seen, by process and thread.
    migrations: BTreeMap<(u32, u32), u64>,
    /// The same when the measured part began, because moves by the director's own confinement do
    /// not count.
    begun: BTreeMap<(u32, u32), u64>,
    first: Option<Vec<u64>>,
    last: Option<Vec<u64>>,
}

impl<'a> Running<'a> {
    /// Starts a job on the CPUs of its set-up.
    pub fn start(asked: &'a Job, folder: &Path, start_file: &Path) -> anyhow::Result<Self> {
        let ready = folder.join(format!("{}.ready", asked.name));
        let mut argv = asked.argv.clone();
        let word = |path: &Path| path.display().to_string();
        argv.extend(["--ready-file".into(), word(&ready), "--start-file".into(), word(start_file)]);
        argv.extend(asked.background.then(|| "--repeat".to_owned()));
        // A child inherits the affinity, and the director must not override a program that places
        // itself.
        confine(None, (!asked.placed_by_hand).then_some(asked.setup_cpus.as_slice()))?;
        if !asked.placed_by_hand {
            beside_its_memory(&mut argv, &folder.join(format!("{}.program", asked.name)));
        }
        let child = Child::start(&asked.name, &argv, folder);
        confine(None, None)?;
        let child = child?;
        Ok(Self { asked, child, ready, migrations: BTreeMap::new(), begun: BTreeMap::new(), first: None, last: None })
    }

    /// Its name within its run.
    pub fn name(&self) -> &str {
        &self.asked.name
    }

    /// Whether it only keeps the machine busy.
    pub fn background(&self) -> bool {
        self.asked.background
    }

    /// Waits until the job has touched its memory. Then brings it to the CPUs where it begins, or
    /// to the CPUs where it may run.
    pub fn set_up(&mut self, until: f64, nodes: usize) -> Result<(), String> {
        while !self.ready.exists() {
            if self.child.ended() {
                return Err(format!("{}: it ended during its set-up: {}", self.asked.name, self.child.how()));
            }
            if procfs::now() >= until {
                return Err(format!("{}: its set-up took longer than the time limit of the run", self.asked.name));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        match &self.asked.begin_cpus {
            Some(cpus) if !self.asked.placed_by_hand => self.bring(cpus),
            _ => self.let_go(),
        }
        self.begin(nodes);
        Ok(())
    }

    /// Records the state at the beginning of its measured part.
    pub fn begin(&mut self, nodes: usize) {
        self.look(&procfs::groups(), nodes);
        self.begun.clone_from(&self.migrations);
        self.first.clone_from(&self.last);
    }

    /// Lets it use all CPUs on which it may run.
    pub fn let_go(&self) {
        if !self.asked.placed_by_hand {
            confine_group(self.child.pid(), self.asked.run_cpus.as_deref());
        }
    }

    /// Brings its threads to CPUs. A sleeping thread moves when it wakes, so this waits until all
    /// threads have moved.
    fn bring(&self, cpus: &[u32]) {
        let until = procfs::now() + BROUGHT_WITHIN;
        confine_group(self.child.pid(), Some(cpus));
        let there = |pid: u32, tid: u32| procfs::cpu(pid, tid).is_none_or(|cpu| cpus.contains(&cpu));
        let all = || {
            let pids = procfs::group(self.child.pid());
            pids.iter().all(|pid| procfs::threads(*pid).iter().all(|tid| there(*pid, *tid)))
        };
        while !all() && procfs::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Records its threads' migrations and its pages; `groups`: the processes of each group.
    pub fn look(&mut self, groups: &BTreeMap<u32, Vec<u32>>, nodes: usize) {
        for pid in groups.get(&self.child.pid()).into_iter().flatten().copied() {
            for tid in procfs::threads(pid) {
                let seen = procfs::migrations(pid, tid);
                self.migrations.extend(seen.map(|count| ((pid, tid), count)));
            }
        }
        self.last = procfs::pages(self.child.pid(), nodes).or(self.last.take());
    }

    /// The result of the job, which has ended or is ended now.
    pub fn finish(mut self) -> JobRan {
        if self.asked.background && !self.child.ended() {
            self.child.signal(Signal::TERM);
            self.child.wait_until(procfs::now() + 5.0);
        }
        let problem = if self.child.ended() {
            self.child.problem()
        } else {
            self.child.kill();
            Some("it had not finished at the time limit of the run".to_owned())
        };
        let output = self.child.output();
        let line = output.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
        let problem = problem.or_else(|| line.is_none().then(|| "it printed no result".to_owned()));
        JobRan {
            name: self.asked.name.clone(),
            background: self.asked.background,
            line,
            problem,
            migrations: (!self.migrations.is_empty()).then(|| self.moved()),
            pages: self.first.take().zip(self.last.take()).map(|(first, last)| [first, last]),
        }
    }

    fn moved(&self) -> u64 {
        let since = |(thread, count): (&(u32, u32), &u64)| {
            count.saturating_sub(self.begun.get(thread).copied().unwrap_or_default())
        };
        self.migrations.iter().map(since).sum()
    }
}

/// Makes the command a copy of its program, in pages of the node on which this thread runs, where
/// the program's memory will be, too. Footprints are scaled down like caches, and programs are not.
/// Without a copy, the pages of the file, wherever the boot has put them, would outweigh the pages
/// of the data, and a policy that looks for a program's home would find the file's node. If no copy
/// can be made, the program runs from where it is.
fn beside_its_memory(argv: &mut [String], folder: &Path) {
    let Some(program) = argv.first_mut() else { return };
    let from = Path::new("/bin").join(&program);
    let copy = from.file_name().map(|name| folder.join(name));
    let copied = copy.filter(|to| std::fs::create_dir_all(folder).and_then(|()| std::fs::copy(&from, to)).is_ok());
    if let Some(copied) = copied {
        *program = copied.display().to_string();
    }
}

/// Confines every thread of a process group. Threads may vanish meanwhile, which is no error.
fn confine_group(leader: u32, cpus: Option<&[u32]>) {
    for pid in procfs::group(leader) {
        for tid in procfs::threads(pid) {
            let _ = confine(i32::try_from(tid).ok().and_then(Pid::from_raw), cpus);
        }
    }
}

/// Confines a thread (`None`: this thread) to CPUs (`None`: all CPUs).
fn confine(thread: Option<Pid>, cpus: Option<&[u32]>) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    match cpus {
        Some(cpus) => cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok()).for_each(|cpu| set.set(cpu)),
        None => (0..CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu)),
    }
    sched_setaffinity(thread, &set).with_context(|| format!("sched_setaffinity to {cpus:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_as_its_copy_and_one_that_is_not_there_stays() {
        let folder = std::env::temp_dir().join(format!("numasim-job-{}", std::process::id()));
        let words = |first: &str| [first.to_owned(), "-c".to_owned()];
        let (mut here, mut missing) = (words("sh"), words("no-such-program"));
        beside_its_memory(&mut here, &folder);
        beside_its_memory(&mut missing, &folder);
        assert_eq!(here, [folder.join("sh").display().to_string(), "-c".to_owned()], "the name stays");
        assert!(folder.join("sh").metadata().unwrap().len() > 0);
        assert_eq!(missing, words("no-such-program"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
