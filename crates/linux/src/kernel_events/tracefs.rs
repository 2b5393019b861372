//! Reads the ids of tracepoints from tracefs (`Documentation/trace/ftrace.rst`): where it is
//! mounted, otherwise from a private mount that has no path and ends with its descriptor.

use super::pin_records::Ids;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::File;
use std::io::Read;

const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The tracepoints of `sched_setaffinity(2)`.
///
/// # Errors
/// Why they are not available.
pub fn affinity_ids() -> Result<Ids, Errno> {
    let mounted = MOUNTED.iter().find_map(|root| {
        let root = rustix::fs::open(*root, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        ids(&root).ok()
    });
    mounted.map_or_else(|| ids(&private_mount()?), Ok)
}

fn private_mount() -> Result<OwnedFd, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)
}

fn ids(root: &OwnedFd) -> Result<Ids, Errno> {
    Ok(Ids { enter: id(root, "sys_enter_sched_setaffinity")?, exit: id(root, "sys_exit_sched_setaffinity")? })
}

fn id(root: &OwnedFd, name: &str) -> Result<u16, Errno> {
    let path = format!("events/syscalls/{name}/id");
    let file = openat(root, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    File::from(file).take(16).read_to_string(&mut text).map_err(|_| Errno::IO)?;
    text.trim().parse().map_err(|_| Errno::INVAL)
}
