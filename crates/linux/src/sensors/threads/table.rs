//! Keeps the processes and threads of the machine, from `/proc`, from sample to sample, so that
//! little is read again: the threads of a process whose CPU time and number of threads did not
//! change are not read. Kernel threads and isobar itself are left out. It is ordinary that a
//! process or thread ends while it is read.

use super::state::{Pass, ProcessState, ThreadState, is_turn};
use crate::kernel::affinity;
use crate::kernel::cgroup::{self, Cpusets};
use crate::kernel::group_names::GroupNames;
use crate::kernel::proc_fs::{ProcDir, Until};
use crate::kernel::stat::{self, Stat};
use crate::kernel::vm;
use crate::sensors::error::SensorError;
use isobar_model::{Cgroup, CpuSet, Tid};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Number of samples after which a process is read in full, whether it seems to have changed or
/// not: that finds changed affinities and cpusets of sleepers, and threads exchanged one for one.
/// Staggered by pid.
const REFRESH: u64 = 16;

/// All processes.
pub struct Table {
    files: ProcDir,
    own: u32,
    processes: BTreeMap<u32, ProcessState>,
    kernel: BTreeSet<u32>,
    cpusets: Cpusets,
    names: GroupNames,
    pids: Vec<u32>,
    tids: Vec<u32>,
}

impl Table {
    /// Opens `/proc`; nothing is read yet.
    ///
    /// # Errors
    /// [`SensorError::Proc`] if it cannot be opened.
    pub fn open() -> Result<Self, SensorError> {
        Ok(Self {
            files: ProcDir::open(Path::new("/proc")).map_err(unreadable)?,
            own: std::process::id(),
            processes: BTreeMap::new(),
            kernel: BTreeSet::new(),
            cpusets: Cpusets::live(),
            names: GroupNames::live(),
            pids: Vec::new(),
            tids: Vec::new(),
        })
    }

    /// The processes as last read, by pid.
    #[must_use]
    pub const fn processes(&self) -> &BTreeMap<u32, ProcessState> {
        &self.processes
    }

    /// The processes, and the files to read, for callers that update what is not in
    /// `/proc/PID/stat`.
    pub(crate) const fn parts(&mut self) -> (&mut BTreeMap<u32, ProcessState>, &mut ProcDir) {
        (&mut self.processes, &mut self.files)
    }

    /// Reads what has changed.
    ///
    /// # Errors
    /// [`SensorError::Proc`] if `/proc` cannot be listed.
    pub fn scan(&mut self, round: u64, online: &CpuSet) -> Result<(), SensorError> {
        if round.is_multiple_of(REFRESH) {
            self.cpusets.forget();
            self.names.forget();
            self.kernel.clear();
        }
        let mut pids = std::mem::take(&mut self.pids);
        let listed = self.files.numbers(format_args!("."), &mut pids);
        listed.map_err(unreadable)?;
        self.processes.retain(|pid, _| pids.binary_search(pid).is_ok());
        for &pid in &pids {
            if pid != self.own && !self.kernel.contains(&pid) && self.visit(pid, round, online).is_none() {
                self.processes.remove(&pid);
            }
        }
        self.pids = pids;
        Ok(())
    }

    /// Reads one process; `None` if there is nothing to observe: it has ended, or is a kernel
    /// thread.
    fn visit(&mut self, pid: u32, round: u64, online: &CpuSet) -> Option<()> {
        let (stat, name) = stat::parse(self.files.read(format_args!("{pid}/stat"), Until::Short).ok()?)?;
        if stat.kernel {
            self.kernel.insert(pid);
            return None;
        }
        if stat.has_ended() && stat.threads <= 1 {
            return None;
        }
        let known = self.processes.remove(&pid).filter(|known| known.start == stat.start);
        let fresh = known.is_none();
        let mut known = known.unwrap_or_else(|| ProcessState::first(&stat));
        // systemd and container runtimes move a process that they forked to its cgroup before it
        // becomes the program, so a new name is a reason to read it in full.
        let renamed = known.name.as_bytes() != name;
        if renamed {
            known.name = String::from_utf8_lossy(name).into();
        }
        let pass = Pass { round, fresh, full: fresh || renamed || is_turn(round, pid, REFRESH), online };
        self.advance(pid, &mut known, &stat, &pass);
        self.processes.insert(pid, known);
        Some(())
    }

    fn advance(&mut self, pid: u32, known: &mut ProcessState, seen: &Stat, pass: &Pass<'_>) {
        let changed = known.ticks != seen.ticks || known.count != seen.threads;
        known.load = if pass.fresh { 0 } else { seen.ticks.saturating_sub(known.ticks) };
        (known.ticks, known.count) = (seen.ticks, seen.threads);
        known.several |= seen.threads > 1;
        if pass.full {
            self.read_cgroup(pid, known);
        }
        if !changed && !pass.full {
            known.threads.iter_mut().for_each(|thread| thread.load = 0);
        } else if known.several {
            self.read_threads(pid, known, pass);
        } else {
            let old = std::mem::take(&mut known.threads).pop();
            known.threads.push(thread(old, seen, known.cpuset.as_ref(), pass));
        }
        self.follow_cpuset(pid, known, pass);
    }

    /// Reads the cpuset again if a mask changed to one that the cpuset does not explain: the cpuset
    /// may have changed, too.
    fn follow_cpuset(&mut self, pid: u32, known: &mut ProcessState, pass: &Pass<'_>) {
        let cpuset = known.cpuset.clone();
        // Every thread must be asked, because each change is reported as doubtful only once.
        let doubtful = known.threads.iter_mut().filter_map(|thread| thread.is_doubtful(cpuset.as_ref()).then_some(()));
        if doubtful.count() == 0 {
            return;
        }
        self.cpusets.forget();
        self.read_cgroup(pid, known);
        if known.cpuset != cpuset {
            let cpuset = known.cpuset.as_ref();
            known.threads.iter_mut().for_each(|thread| read_mask(thread, cpuset, pass.online));
        }
    }

    /// Reads the cgroup of the process, and which CPUs that permits.
    fn read_cgroup(&mut self, pid: u32, known: &mut ProcessState) {
        let text = self.files.read(format_args!("{pid}/cgroup"), Until::End).ok();
        // A cgroup may have any name.
        let text = text.map(String::from_utf8_lossy);
        known.cpuset = text.as_deref().and_then(|text| self.cpusets.permitted(text));
        let Some(path) = text.as_deref().and_then(cgroup::known_path) else {
            known.cgroup = None;
            return;
        };
        let name = self.names.of(path);
        if known.cgroup.as_deref().is_none_or(|old| old.path != path || old.name != name) {
            known.cgroup = Some(Arc::new(Cgroup { path: path.to_owned(), name }));
        }
    }

    fn read_threads(&mut self, pid: u32, known: &mut ProcessState, pass: &Pass<'_>) {
        let mut tids = std::mem::take(&mut self.tids);
        let name = Arc::clone(&known.name);
        let listed = self.files.numbers(format_args!("{pid}/task"), &mut tids);
        let mut old = std::mem::take(&mut known.threads).into_iter().peekable();
        known.threads.reserve(tids.len());
        for &tid in listed.is_ok().then_some(&tids).into_iter().flatten() {
            while old.next_if(|thread| thread.tid.0 < tid).is_some() {}
            let before = old.next_if(|thread| thread.tid.0 == tid);
            let thread = match before {
                Some(idle) if pass.may_skip(&idle) => Some(ThreadState { skipped: true, ..idle }),
                before => self.read_thread((pid, &name), tid, before, known.cpuset.as_ref(), pass),
            };
            known.threads.extend(thread);
        }
        self.tids = tids;
        if known.is_short_of_ticks() {
            self.read_skipped(pid, known, pass);
        }
    }

    /// Reads the threads that were taken to be asleep: some of them used a part of the process's
    /// time.
    fn read_skipped(&mut self, pid: u32, known: &mut ProcessState, pass: &Pass<'_>) {
        let name = Arc::clone(&known.name);
        let read = |thread: ThreadState| match thread.skipped {
            true => self.read_thread((pid, &name), thread.tid.0, Some(thread), known.cpuset.as_ref(), pass),
            false => Some(thread),
        };
        known.threads = std::mem::take(&mut known.threads).into_iter().filter_map(read).collect();
        known.unaccounted = 0;
    }

    /// Reads one thread; `None` if it has ended.
    fn read_thread(
        &mut self,
        (pid, name): (u32, &str),
        tid: u32,
        before: Option<ThreadState>,
        cpuset: Option<&CpuSet>,
        pass: &Pass<'_>,
    ) -> Option<ThreadState> {
        let (stat, own) = stat::parse(self.files.read(format_args!("{pid}/task/{tid}/stat"), Until::Short).ok()?)?;
        let vcpu = vm::is_vcpu(name.as_bytes(), own);
        (!stat.has_ended()).then(|| ThreadState { vcpu, ..thread(before, &stat, cpuset, pass) })
    }
}

/// A thread as its stat line shows it now; `before` is its last reading.
fn thread(before: Option<ThreadState>, seen: &Stat, cpuset: Option<&CpuSet>, pass: &Pass<'_>) -> ThreadState {
    let tid = Tid(seen.id);
    let before = before.filter(|old| old.start == seen.start && old.tid == tid);
    let first = before.is_none();
    let mut thread = before.unwrap_or_else(|| ThreadState::first(tid, seen.start));
    thread.load = seen.ticks.saturating_sub(thread.ticks);
    thread.ticks = seen.ticks;
    thread.cpu = seen.cpu;
    thread.skipped = false;
    thread.idle = if thread.load == 0 { thread.idle.saturating_add(1) } else { 0 };
    if first || pass.full || thread.load > 0 {
        read_mask(&mut thread, cpuset, pass.online);
    }
    thread
}

fn read_mask(thread: &mut ThreadState, cpuset: Option<&CpuSet>, online: &CpuSet) {
    thread.take_mask(affinity::get(thread.tid).ok(), cpuset, online);
}

fn unreadable(errno: Errno) -> SensorError {
    SensorError::Proc { source: errno.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::folder;
    use std::fs;

    #[test]
    fn process_2_of_a_container_is_a_process_and_its_cgroup_may_have_any_name() {
        let rest = "0 0 0 1 1 0 0 20 0 1 0 5 0 0";
        let proc = folder(&[("2/stat", &format!("2 (sh) S 1 2 2 0 -1 64 0 {rest}")), ("2/cgroup", "")]);
        fs::write(proc.path().join("2/cgroup"), b"0::/web/\xff\n").unwrap();
        let files = ProcDir::open(proc.path()).unwrap();
        let mut table = Table { files, own: 1, ..Table::open().unwrap() };
        table.scan(1, &CpuSet::new()).unwrap();
        let cgroup = table.processes().get(&2).expect("it is no kernel thread").cgroup.clone();
        assert_eq!(cgroup.unwrap().path, "/web/\u{fffd}");
    }
}
