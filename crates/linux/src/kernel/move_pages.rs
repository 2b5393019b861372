//! Calls `move_pages(2)` in its two uses: to ask where pages are, and to move them. This file knows
//! addresses and node numbers, nothing else.

use super::id::kernel_id;
use isobar_model::{NodeId, Pid, num};
use std::ffi::c_void;
use std::io;
use std::ptr;

/// `MPOL_MF_MOVE` of `linux/mempolicy.h`: only pages that this process alone maps.
const MOVE: libc::c_int = 1 << 1;

/// Number of pages in one system call that locates pages.
pub const MOST_LOCATED: usize = 4096;

/// A status that the kernel never writes. It means that the kernel stopped before this page.
pub const NOT_TRIED: i32 = i32::MIN;

/// Where each page is: its node, or a negative error number (`-ENOENT` when it is not resident).
///
/// # Errors
/// `ESRCH`: the process ended; `EPERM`: `CAP_SYS_PTRACE` is missing for a process of another user.
pub fn locate(pid: Pid, pages: &[u64], page_size: u64) -> io::Result<Vec<i32>> {
    call(pid, pages, page_size, None)
}

/// Pages that are on the node that they were to move to, and the other pages with their statuses.
pub type Relocated = (Vec<u64>, Vec<(u64, i32)>);

/// Moves pages to a node, and locates them afterwards. What the kernel says of a move is not final:
/// it leaves pages out after a failure, and reports the tails of a huge page that moved as busy.
/// The status of a page that is not on the node is the error of its move or, if the kernel gave
/// none, where it is now.
///
/// # Errors
/// The same as for [`locate`], and `ENODEV`: no such node with memory; `EACCES`: the node is
/// outside the cpuset of the process.
pub fn relocate(pid: Pid, pages: &[u64], page_size: u64, to: NodeId) -> io::Result<Relocated> {
    let target = libc::c_int::try_from(to.0).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    let said = call(pid, pages, page_size, Some(target))?;
    let now = locate(pid, pages, page_size)?;
    let (mut there, mut elsewhere) = (Vec::new(), Vec::new());
    for ((page, said), now) in pages.iter().zip(said).zip(now) {
        let is_error = said < 0 && said != NOT_TRIED;
        if node(now) == Some(to) {
            there.push(*page);
        } else {
            elsewhere.push((*page, if is_error { said } else { now }));
        }
    }
    Ok((there, elsewhere))
}

fn call(pid: Pid, pages: &[u64], page_size: u64, to: Option<libc::c_int>) -> io::Result<Vec<i32>> {
    let pid = kernel_id(pid.0).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
    let addresses = pages.iter().map(|page| address(*page, page_size)).collect::<Vec<_>>();
    let nodes = to.map(|node| vec![node; pages.len()]);
    let nodes_pointer = nodes.as_ref().map_or(ptr::null(), Vec::as_ptr);
    let mut status = vec![NOT_TRIED; pages.len()];
    // SAFETY: the kernel reads `pages.len()` addresses and, unless the pointer is null, as many
    // nodes, and writes as many statuses; all three vectors live past the call and have that
    // length. It does not follow the addresses in our own address space: they are those of the
    // process `pid`.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid,
            pages.len(),
            addresses.as_ptr(),
            nodes_pointer,
            status.as_mut_ptr(),
            MOVE,
        )
    };
    // A positive result is the number of pages that could not be moved (Linux 4.17 and later).
    if result >= 0 { Ok(status) } else { Err(io::Error::last_os_error()) }
}

/// The address of a page, as the kernel expects it: a number that we never dereference.
fn address(page: u64, page_size: u64) -> *const c_void {
    let address = usize::try_from(page.saturating_mul(page_size)).unwrap_or(usize::MAX);
    ptr::without_provenance(address)
}

/// The node that a status names; `None` if it is an error.
pub fn node(status: i32) -> Option<NodeId> {
    u32::try_from(status).ok().map(NodeId)
}

/// The number of pages in one call, as a length.
pub fn length(batch: u64) -> usize {
    num::index(u32::try_from(batch).unwrap_or(u32::MAX)).max(1)
}
