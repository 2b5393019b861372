//! Sets where the pages of a mapping of this process are allocated (`mbind(2)`). This file knows
//! addresses and node numbers, nothing else.

use isobar_model::{NodeId, num};
use std::io;
use std::ptr::NonNull;

/// `MPOL_PREFERRED` of `linux/mempolicy.h`.
const PREFERRED: libc::c_int = 1;

/// One word of a node mask (`unsigned long`).
type Word = libc::c_ulong;

/// The greatest number of nodes that Linux can be built for (`MAX_NUMNODES`, 1 << 10).
const MAX_NODES: u32 = 1024;

/// Lets new pages of a mapping of this process come from a node as long as it has free memory,
/// otherwise from the nearest node that has some.
///
/// `MPOL_BIND` would not do: if the node is full, the kernel does not look elsewhere but ends a
/// process to free memory (the OOM killer, constrained to the node). A caller that prefers a node
/// must check afterwards where the pages are.
///
/// # Errors
/// `EINVAL`: there is no such node, or the cpuset forbids it; `ENOSYS`: a kernel without NUMA.
pub fn prefer(start: NonNull<u8>, length: usize, node: NodeId) -> io::Result<()> {
    if node.0 >= MAX_NODES {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut mask: [Word; num::index(MAX_NODES / Word::BITS)] = [0; _];
    mask[num::index(node.0 / Word::BITS)] = 1 << (node.0 % Word::BITS);
    // The kernel reads one bit less than this argument says.
    let bits = Word::from(MAX_NODES) + 1;
    // SAFETY: the kernel reads `MAX_NODES` bits of `mask`, which lives through the call; it changes
    // the policy of a mapping, not what is in it, and checks the range.
    let result = unsafe { libc::syscall(libc::SYS_mbind, start.as_ptr(), length, PREFERRED, mask.as_ptr(), bits, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
