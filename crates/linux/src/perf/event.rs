//! One perf event, from its numbers to an open descriptor (`perf_event_open(2)`).

use isobar_model::{CpuId, Tid};
use perf_event_open_sys::{bindings, perf_event_open};
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::io::Errno;

/// An event as `perf_event_attr` takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// `type`
    pub kind: u32,
    /// `config`, `config1`, `config2`
    pub config: [u64; 3],
    /// whether it counts in user mode only, whatever modes the others count in
    pub user_only: bool,
}

impl Code {
    /// An event of a type, with its `config` values.
    #[must_use]
    pub const fn new(kind: u32, config: [u64; 3]) -> Self {
        Self { kind, config, user_only: false }
    }
}

/// The modes that are counted; a paranoid level of 2 allows user mode only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// user and kernel
    All,
    /// user only
    User,
}

/// The attributes that all events of isobar have in common.
pub fn attributes(code: Code, modes: Modes) -> bindings::perf_event_attr {
    let mut attr = bindings::perf_event_attr::default();
    attr.type_ = code.kind;
    attr.config = code.config[0];
    attr.size = u32::try_from(size_of_val(&attr)).unwrap_or(bindings::PERF_ATTR_SIZE_VER8);
    attr.__bindgen_anon_3.config1 = code.config[1];
    attr.__bindgen_anon_4.config2 = code.config[2];
    let user_only = code.user_only || modes == Modes::User;
    attr.set_exclude_kernel(u64::from(user_only));
    attr.set_exclude_hv(u64::from(user_only));
    attr
}

/// Opens an event on a thread (0 = the caller), on any CPU, closed on exec.
///
/// # Errors
/// The kernel's error.
pub fn open(attr: &mut bindings::perf_event_attr, thread: Tid, leader: Option<&OwnedFd>) -> Result<OwnedFd, Errno> {
    let pid = libc::pid_t::try_from(thread.0).map_err(|_| Errno::SRCH)?;
    open_anywhere(attr, pid, -1, leader.map_or(-1, AsRawFd::as_raw_fd))
}

/// Opens an event on a CPU, for all threads that run there, closed on exec.
///
/// # Errors
/// The kernel's error.
pub fn open_on_cpu(attr: &mut bindings::perf_event_attr, cpu: CpuId) -> Result<OwnedFd, Errno> {
    let cpu = libc::c_int::try_from(cpu.0).map_err(|_| Errno::NODEV)?;
    open_anywhere(attr, -1, cpu, -1)
}

/// Opens an event on the calling thread while it runs on a CPU, and on the threads and processes
/// that it starts if `attr` says that it is inherited; closed on exec.
///
/// # Errors
/// The kernel's error.
pub fn open_here_and_in_children(
    attr: &mut bindings::perf_event_attr,
    cpu: CpuId,
    leader: Option<&OwnedFd>,
) -> Result<OwnedFd, Errno> {
    let cpu = libc::c_int::try_from(cpu.0).map_err(|_| Errno::NODEV)?;
    open_anywhere(attr, 0, cpu, leader.map_or(-1, AsRawFd::as_raw_fd))
}

fn open_anywhere(
    attr: &mut bindings::perf_event_attr,
    pid: libc::pid_t,
    cpu: libc::c_int,
    group: libc::c_int,
) -> Result<OwnedFd, Errno> {
    // SAFETY: `attr` is an initialised perf_event_attr of the size that it states, and lives
    // through the call.
    let fd = unsafe { perf_event_open(attr, pid, cpu, group, libc::c_ulong::from(bindings::PERF_FLAG_FD_CLOEXEC)) };
    if fd < 0 {
        return Err(last_errno());
    }
    // SAFETY: the kernel has just made this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The errno of the system call that just failed.
#[must_use]
pub fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
