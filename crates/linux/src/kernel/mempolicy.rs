//! Sets the memory policy of the calling thread (`set_mempolicy(2)`), and knows where the machine
//! keeps its weights of weighted interleave
//! (`Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave`, Linux 6.9).

use isobar_allocation::Mode;
use isobar_model::{CpuSet, NodeId};
use std::io;

/// The folder of the weights.
pub const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

/// The kernel subtracts one from this number of bits.
const BITS: libc::c_ulong = 65;

/// Gives the calling thread, and everything that it starts from now on, a memory policy.
///
/// # Errors
/// `EINVAL`: the kernel does not know the mode, or none of the nodes has memory.
pub fn set(mode: Mode) -> io::Result<()> {
    let nodes = [mode.nodes, 0];
    // SAFETY: the kernel reads one word of nodes, which live past the call.
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode.mode, nodes.as_ptr(), BITS) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Nodes as the bits of a policy; `None` if a node is beyond the 64 that a policy of isobar can
/// name.
#[must_use]
pub fn bits(nodes: impl IntoIterator<Item = NodeId>) -> Option<u64> {
    nodes.into_iter().try_fold(0, |bits, node| Some(bits | 1_u64.checked_shl(node.0).filter(|_| node.0 < 64)?))
}

/// The nodes that have memory.
///
/// # Errors
/// If sysfs does not say: a kernel without NUMA.
pub fn with_memory() -> io::Result<Vec<NodeId>> {
    let text = std::fs::read_to_string("/sys/devices/system/node/has_memory")?;
    let list: CpuSet = text.trim().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(list.iter().map(|node| NodeId(node.0)).collect())
}
