//! Memory policies of this process, through the kernel's calls (`set_mempolicy(2)`, `mbind(2)`,
//! `get_mempolicy(2)`).
//!
//! A policy of isobar has the flag `MPOL_F_STATIC_NODES`, which distinguishes it from the owner's.

use isobar_allocation::{Decision, Mapping, Mode};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// `MPOL_LOCAL`: on the node of the CPU, whatever the policy of the thread.
const LOCAL: i32 = 4;

/// Whether threads may have inherited a policy of isobar that is out of date. If so, mappings are
/// made local when there is no decision any more, and a local mapping is isobar's.
static THREADS_HAVE_ONE: AtomicBool = AtomicBool::new(false);

const STATIC_NODES: i32 = 1 << 15;
const FLAGS: i32 = STATIC_NODES | 1 << 14 | 1 << 13;
/// `MPOL_F_ADDR`: the policy that holds at an address.
const AT_ADDRESS: libc::c_ulong = 1 << 1;
/// Words for the nodes of any kernel.
const WORDS: usize = 16;
/// Number of bits in one word, plus the one that the kernel subtracts.
const BITS: libc::c_ulong = 65;

/// A policy as the kernel reports it: mode with flags, and the nodes below 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    mode: i32,
    nodes: u64,
}

/// The policy of this thread; `None` if the kernel does not report it.
pub fn of_thread() -> Option<Found> {
    found(0, 0)
}

/// The policy at an address: that of its mapping, otherwise that of this thread.
pub fn at(address: usize) -> Option<Found> {
    found(address, AT_ADDRESS)
}

/// The policy of mappings that carries out a decision.
pub fn of_mappings(decision: &Decision) -> Mode {
    match decision.mode() {
        Mode::DEFAULT if THREADS_HAVE_ONE.load(Ordering::Relaxed) => Mode { mode: LOCAL, nodes: 0 },
        mode => mode,
    }
}

/// Whether someone else has set the policy. An unknown policy is assumed to be someone else's.
pub fn is_the_owners(found: Option<Found>) -> bool {
    match found {
        Some(Found { mode: LOCAL, .. }) => !THREADS_HAVE_ONE.load(Ordering::Relaxed),
        Some(found) => found.mode & !FLAGS != 0 && found.mode & STATIC_NODES == 0,
        None => true,
    }
}

/// Whether it is this policy, set by isobar.
pub fn is(found: Found, mode: Mode) -> bool {
    found == Found { mode: flagged(mode), nodes: mode.nodes }
}

/// Gives the thread that begins a program a policy, which its threads and children inherit.
pub fn set_for_program(mode: Mode) {
    if mode != Mode::DEFAULT {
        THREADS_HAVE_ONE.store(true, Ordering::Relaxed);
    }
    set_for_thread(mode);
}

/// Gives this thread a policy.
pub fn set_for_thread(mode: Mode) {
    let nodes = [mode.nodes, 0];
    // SAFETY: the kernel reads one word of nodes; a refusal changes nothing.
    unsafe { libc::syscall(libc::SYS_set_mempolicy, flagged(mode), pointer(&nodes, mode), bits(mode)) };
}

/// Gives a mapping a policy for future pages. The mapping may be gone or replaced by now. In that
/// case the kernel refuses, or other anonymous memory of this process gets the policy a little
/// earlier.
pub fn set_for_mapping(mapping: Mapping, mode: Mode) {
    let nodes = [mode.nodes, 0];
    let (start, length) = (mapping.start, mapping.end - mapping.start);
    // SAFETY: the kernel reads one word of nodes, and does not touch the memory of the mapping.
    unsafe { libc::syscall(libc::SYS_mbind, start, length, flagged(mode), pointer(&nodes, mode), bits(mode), 0) };
}

const fn flagged(mode: Mode) -> i32 {
    if mode.nodes == 0 { mode.mode } else { mode.mode | STATIC_NODES }
}

const fn pointer(nodes: &[u64; 2], mode: Mode) -> *const u64 {
    if mode.nodes == 0 { ptr::null() } else { nodes.as_ptr() }
}

const fn bits(mode: Mode) -> libc::c_ulong {
    if mode.nodes == 0 { 0 } else { BITS }
}

fn found(address: usize, flags: libc::c_ulong) -> Option<Found> {
    let (mut mode, mut nodes): (i32, _) = (0, [0_u64; WORDS]);
    let (mode_at, nodes_at) = (&raw mut mode, nodes.as_mut_ptr());
    // SAFETY: the kernel writes one number, and no more bits than the length passed.
    let result = unsafe { libc::syscall(libc::SYS_get_mempolicy, mode_at, nodes_at, nodes.len() * 64, address, flags) };
    (result == 0).then_some(Found { mode, nodes: nodes[0] })
}
