//! Allows one manager per machine, whatever the state files. Two managers would take each other's
//! changes for the owners' and leave threads bound.
//!
//! Managers find each other by read locks (`fcntl(2)`, `F_RDLCK`) on a file of the kernel that
//! every user may read, that is always there and that only root could open for writing. So no
//! unprivileged process can keep others from registering (a write lock would, as would `LOCK_EX` of
//! `flock(2)` on any file that one may read), nothing is left on disk, and a kill -9 ends the
//! registration. `/proc/locks` lists the processes that hold the lock. Each is examined, because
//! any process may take such a lock:
//!
//! - an isobar that may move every user's threads, or that runs as our user, conflicts with us;
//! - any other isobar, and any other program, is named in a remark and ignored.
//!
//! Two phases ensure that exactly one of two managers that start at the same time goes on. A lock
//! on byte 0 says "I would like to manage", one on byte 1 "I manage". Having locked byte 0, a
//! process looks at the others. If one of them manages, or is an older candidate, the process gives
//! up. It waits for a younger candidate, which either gives up itself or had looked before this
//! process came. A process that sees neither locks byte 1.
//!
//! Such a lock is lost when its process closes *any* descriptor of the file, so nothing else in
//! isobar may open the file.

use super::error::ActuatorError;
use super::file_capabilities;
use crate::kernel::other::Other;
use crate::kernel::{locks, privilege};
use rustix::process::getpid;
use std::cmp::Reverse;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The kernel's file that is locked.
pub const DEFAULT_PATH: &str = "/sys/devices/system/cpu/kernel_max";

/// For tests, which run several managers at the same time: another file instead of
/// [`DEFAULT_PATH`], or `none` for no lock. It is ignored if the executable carries capabilities
/// and the caller is not root.
pub const VARIABLE: &str = "ISOBAR_TEST_MANAGER_LOCK";

/// How long a younger isobar may take to decide.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pause between two looks at the others.
const PAUSE: Duration = Duration::from_millis(5);

/// Number of ignored processes that remarks name.
const MOST_NAMED: usize = 3;

/// The file for the lock of this machine; `None` if a test wants no lock.
#[must_use]
pub fn place() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE).filter(|_| file_capabilities::environment_is_trusted()) {
        Some(none) if none == "none" => None,
        Some(path) => Some(path.into()),
        None => Some(DEFAULT_PATH.into()),
    }
}

/// The registration as the manager of this machine, until this is dropped.
#[derive(Debug)]
pub struct ManagerLock {
    /// Closing the file ends the registration.
    _file: Option<File>,
    remarks: Vec<String>,
}

impl ManagerLock {
    /// Registers this process. If that is not possible, it goes on with a remark.
    ///
    /// # Errors
    /// [`ActuatorError::Managed`] if another isobar manages this machine.
    pub fn take(path: &Path) -> Result<Self, ActuatorError> {
        let file = match open(path).and_then(|file| lock(&file, CANDIDATE).map(|()| file)) {
            Ok(file) => file,
            Err(error) => return Ok(Self::without(path, &error)),
        };
        let start = Instant::now();
        loop {
            let others = match Others::on(&file) {
                Ok(others) => others,
                Err(error) => return Ok(Self::without(path, &error)),
            };
            match others.verdict(start.elapsed()) {
                Verdict::Refused(other) => {
                    return Err(ActuatorError::Managed { other: other.to_string(), pid: other.pid });
                }
                Verdict::Wait => std::thread::sleep(PAUSE),
                Verdict::Free => return Ok(Self::registered(path, file, &others)),
            }
        }
    }

    /// Remarks for a person: which processes are ignored, or why others cannot be seen.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn registered(path: &Path, file: File, others: &Others) -> Self {
        match lock(&file, MANAGER) {
            Ok(()) => Self { _file: Some(file), remarks: others.remarks(path) },
            Err(error) => Self::without(path, &error),
        }
    }

    fn without(path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        let remark = format!(
            "{path}: {error}: isobar cannot see whether another isobar manages this machine; make sure that none does"
        );
        Self { _file: None, remarks: vec![remark] }
    }
}

/// Whether an isobar that would act on our processes manages this machine. This call registers
/// nothing.
#[must_use]
pub fn is_managed(path: &Path) -> bool {
    let others = open(path).and_then(|file| Others::on(&file));
    others.is_ok_and(|others| others.conflicting.iter().any(|(_, manages)| *manages))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)
}

/// The byte that candidates lock, and the byte that a manager locks.
const CANDIDATE: libc::off_t = 0;
const MANAGER: libc::off_t = 1;

/// Whether the holder of this lock manages. Byte 0 stays locked as well.
const fn manages(held: &locks::Held) -> bool {
    held.last > 0
}

/// Takes a read lock on one byte.
fn lock(file: &File, byte: libc::off_t) -> io::Result<()> {
    // The constants are small, but have other types on some architectures.
    let small = |constant: libc::c_int| libc::c_short::try_from(constant).unwrap_or(0);
    // SAFETY: `flock` is plain integers, for which zeros are a value.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    (request.l_type, request.l_whence) = (small(libc::F_RDLCK), small(libc::SEEK_SET));
    (request.l_start, request.l_len) = (byte, 1);
    // SAFETY: the descriptor is open, and the request outlives the call, which only reads it.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The other processes that hold the lock, and whether each conflicts with us.
#[derive(Debug)]
struct Others {
    own_age: (u64, u32),
    /// Each process, with whether it manages.
    conflicting: Vec<(Other, bool)>,
    ignored: Vec<Other>,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict<'a> {
    Free,
    Wait,
    Refused(&'a Other),
}

impl Others {
    fn on(file: &File) -> io::Result<Self> {
        let own = u32::try_from(getpid().as_raw_nonzero().get()).unwrap_or(0);
        let mut holds = locks::on(&file.metadata()?)?;
        holds.retain(|held| held.pid != own);
        holds.sort_by_key(|held| (held.pid, Reverse(held.last)));
        holds.dedup_by_key(|held| held.pid);
        let others = holds.iter().filter_map(|held| Some((Other::look(held.pid)?, manages(held))));
        let (conflicting, ignored): (Vec<_>, Vec<_>) = others.partition(|(other, _)| conflicts(other));
        let own_age = Other::look(own).map_or((0, own), |own| own.age());
        Ok(Self { own_age, conflicting, ignored: ignored.into_iter().map(|(other, _)| other).collect() })
    }

    fn verdict(&self, waited: Duration) -> Verdict<'_> {
        let stronger = |(other, manages): &&(Other, bool)| *manages || other.age() < self.own_age;
        match (self.conflicting.iter().find(stronger), self.conflicting.first()) {
            (Some((other, _)), _) => Verdict::Refused(other),
            (None, Some((other, _))) if waited >= PATIENCE => Verdict::Refused(other),
            (None, Some(_)) => Verdict::Wait,
            (None, None) => Verdict::Free,
        }
    }

    fn remarks(&self, path: &Path) -> Vec<String> {
        let of_interest = |other: &&Other| !other.isobar || privilege::may_move_others();
        let ignored: Vec<_> = self.ignored.iter().filter(of_interest).collect();
        let mut remarks: Vec<_> = ignored.iter().take(MOST_NAMED).map(|other| ignored_because(other, path)).collect();
        if ignored.len() > MOST_NAMED {
            remarks.push(format!("{} more processes hold the lock on {}", ignored.len() - MOST_NAMED, path.display()));
        }
        remarks
    }
}

/// Whether two managers, this process and `other`, would undo each other's changes.
const fn conflicts(other: &Other) -> bool {
    other.isobar && (other.privileged || other.ours)
}

fn ignored_because(other: &Other, path: &Path) -> String {
    if other.isobar {
        format!(
            "another isobar runs without privileges ({other}): the threads that it binds look pinned by their owner, \
             so this isobar leaves them alone"
        )
    } else {
        format!(
            "{other} holds the lock on {} by which instances of isobar find each other, but is not isobar: it is \
             ignored",
            path.display()
        )
    }
}

#[cfg(test)]
#[path = "manager_lock_tests.rs"]
mod tests;
