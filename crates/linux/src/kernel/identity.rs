//! Identifies threads: ids are reused, start times are not, so a thread is (pid, tid, start) within
//! one boot.
//!
//! This file knows `/proc/PID/task/TID/stat` (`proc_pid_stat(5)`), the boot id, and the clock that
//! start times are taken from. A task that does not exist is `None`, never an error. A task that
//! cannot be read may still live; [`find`] and [`has_ended`] distinguish the two.

use super::proc_fs::read_text;
use super::stat::{self, Stat};
use super::{affinity, clock};
use isobar_model::text::one_line;
use isobar_model::{Pid, Tid};
use rustix::time::ClockId;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The thread `tid` of process `pid`; `None` when there is no such thread (any more), or when it
/// cannot be read. Enough for a task that is only observed; see [`find`].
#[must_use]
pub fn task(pid: Pid, tid: Tid) -> Option<Stat> {
    read(&PathBuf::from(format!("/proc/{pid}/task/{tid}/stat")))
}

/// Whether a thread is still the one that started at `start`.
#[must_use]
pub fn lives(pid: Pid, tid: Tid, start: u64) -> bool {
    task(pid, tid).is_some_and(|task| task.start == start)
}

/// The thread `tid` of process `pid`; `None` only when it has certainly ended. A record of what
/// isobar changed is dropped on this answer alone.
///
/// # Errors
/// It may live but cannot be read: no descriptor is left, or `/proc` hides it.
pub fn find(pid: Pid, tid: Tid) -> io::Result<Option<Stat>> {
    find_below(Path::new("/proc"), pid, tid)
}

/// Whether the thread that started at `start` has certainly ended.
#[must_use]
pub fn has_ended(pid: Pid, tid: Tid, start: u64) -> bool {
    find(pid, tid).is_ok_and(|task| task.is_none_or(|task| task.start != start))
}

fn find_below(proc: &Path, pid: Pid, tid: Tid) -> io::Result<Option<Stat>> {
    if let Some(line) = read_live(&proc.join(format!("{pid}/task/{tid}/stat")))? {
        let unknown = || io::Error::new(io::ErrorKind::InvalidData, "its stat file is in an unknown format");
        return stat::parse(&line).map(|(stat, _)| Some(stat)).ok_or_else(unknown);
    }
    // The mount option hidepid (`proc(5)`) makes living processes look absent. Affinities can be
    // read nevertheless.
    match affinity::get(tid) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    let status = read_live(&proc.join(format!("{tid}/status")))?;
    match status.and_then(|status| thread_group(&status)) {
        // The id now belongs to a thread of another process.
        Some(other) if other != pid => Ok(None),
        _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, "/proc hides it (mount option hidepid)")),
    }
}

/// The process `pid`, by its main thread; `None` as for [`task`].
#[must_use]
pub fn process(pid: Pid) -> Option<Stat> {
    read(&PathBuf::from(format!("/proc/{pid}/stat")))
}

/// The process that a thread belongs to (`Tgid` of `proc_pid_status(5)`); `None` when there is no
/// such thread (any more).
#[must_use]
pub fn process_of(tid: Tid) -> Option<Pid> {
    let status = read_live(&PathBuf::from(format!("/proc/{tid}/status"))).ok().flatten()?;
    thread_group(&status)
}

fn thread_group(status: &[u8]) -> Option<Pid> {
    let status = String::from_utf8_lossy(status);
    let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    pid.trim().parse().ok().map(Pid)
}

/// The cgroups of a thread, as procfs writes them (`cgroups(7)`); empty if they cannot be read.
#[must_use]
pub fn cgroups(pid: Pid, tid: Tid) -> String {
    read_text(format!("/proc/{pid}/task/{tid}/cgroup")).unwrap_or_default()
}

/// The name of a process, for people; empty if it has ended.
#[must_use]
pub fn name(pid: Pid) -> String {
    fs::read(format!("/proc/{pid}/comm"))
        .map_or_else(|_| String::new(), |name| one_line(String::from_utf8_lossy(&name).trim_end()))
}

/// The threads of a process, ascending; none if it has ended.
#[must_use]
pub fn threads(pid: Pid) -> Vec<Tid> {
    numbered(&format!("/proc/{pid}/task")).into_iter().map(Tid).collect()
}

/// Every process that we may see, ascending.
#[must_use]
pub fn processes() -> Vec<Pid> {
    numbered("/proc").into_iter().map(Pid).collect()
}

/// This process.
#[must_use]
pub fn own_pid() -> Pid {
    Pid(std::process::id())
}

/// The file in which the kernel identifies this boot.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The id of this boot: start times of another boot mean nothing.
///
/// # Errors
/// The kernel's error for reading [`BOOT_ID`].
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string(BOOT_ID)?.trim().to_owned())
}

/// Now, on the clock of start times (`CLOCK_BOOTTIME`, in ticks).
#[must_use]
pub fn ticks_now() -> u64 {
    let (now, hertz) = (clock::now(ClockId::Boottime), procfs::ticks_per_second());
    now.as_secs() * hertz + u64::from(now.subsec_nanos()) * hertz / 1_000_000_000
}

fn read(path: &PathBuf) -> Option<Stat> {
    let line = read_live(path).ok().flatten()?;
    stat::parse(&line).map(|(stat, _)| stat)
}

/// Reads a file of a process; `None` if the process ended before or during the read.
///
/// # Errors
/// Any other error of the kernel: mostly that we may not look (`EACCES`, `EPERM`).
pub fn read_live(path: &PathBuf) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

fn numbered(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut ids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_younger_than_now_and_no_kernel_thread() {
        let own = process(own_pid()).unwrap();
        assert!(own.start <= ticks_now());
        assert!(!own.kernel);
        assert!(threads(own_pid()).iter().all(|&tid| task(own_pid(), tid).is_some()));
        assert!(threads(own_pid()).into_iter().all(|tid| process_of(tid).is_none_or(|pid| pid == own_pid())));
    }

    #[test]
    fn a_task_that_is_not_there_is_none() {
        assert_eq!(task(own_pid(), Tid(u32::MAX)), None);
        assert!(threads(Pid(u32::MAX)).is_empty());
    }

    #[test]
    fn only_a_task_that_is_gone_has_ended() {
        let (own, parent) = (own_pid(), process(own_pid()).unwrap().parent);
        let (main, start) = (Tid(own.0), process(own_pid()).unwrap().start);
        assert_eq!(find(own, main).unwrap().map(|task| (task.start, task.kernel)), Some((start, false)));
        assert!(!has_ended(own, main, start) && has_ended(own, main, start + 1));
        assert_eq!(find(own, Tid(u32::MAX)).unwrap(), None, "no such thread");
        assert_eq!(find(own, Tid(parent.0)).unwrap(), None, "a thread of another process");
        let hides_all = tempfile::tempdir().unwrap();
        let hidden = find_below(hides_all.path(), own, main).unwrap_err();
        assert!(hidden.to_string().contains("hidepid"), "{hidden}");
    }
}
