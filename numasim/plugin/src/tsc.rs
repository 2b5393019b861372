//! The guest's time-stamp counter. QEMU reads the host's counter for it, by an instruction that
//! cannot be intercepted by a function. But the kernel can make that instruction a fault
//! (`prctl(2)`, `PR_SET_TSC`), and the signal handler returns modelled time: one count per cycle of
//! the machine's clock, which is how the counters of real processors have run since Nehalem (Intel
//! SDM, volume 3B, "Invariant TSC").

use crate::world::clock;
use crate::{error, idle};
use numasim_model::Spec;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts per millisecond; one count per nanosecond until the machine is known.
static KHZ: AtomicU64 = AtomicU64::new(1_000_000);

/// Makes the counter run at the machine's clock from now on.
pub fn rate(spec: &Spec) {
    KHZ.store(spec.clock_khz(), Relaxed);
}

fn count() -> i64 {
    let count = i128::from(clock::counter()) * i128::from(KHZ.load(Relaxed)) / 1_000_000;
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Instructions that read the counter: RDTSC, and RDTSCP, which also returns the CPU.
const RDTSC: [u8; 2] = [0x0f, 0x31];
const RDTSCP: [u8; 3] = [0x0f, 0x01, 0xf9];

/// Runs when the library is loaded, before QEMU's first instruction, so that all threads inherit
/// the setting; in any other program it does nothing.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = {
    extern "C" fn on_load() {
        if is_qemu() {
            idle::begin();
            trap();
        }
    }
    on_load
};

fn is_qemu() -> bool {
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("qemu-system"))
}

fn trap() {
    // SAFETY: all zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK;
    // SAFETY: a valid action; the handler touches only its arguments and atomics.
    let handled = unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()) };
    // SAFETY: an option with one number.
    let trapped = unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) };
    if handled != 0 || trapped != 0 {
        error::end("this kernel does not let a program trap reads of the time-stamp counter (prctl PR_SET_TSC)");
    }
}

unsafe extern "C" fn on_fault(signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let at = registers[REG_RIP].cast_unsigned();
    let Some(length) = reads_counter(at) else {
        // A real fault: it happens again, and then ends QEMU.
        // SAFETY: the default action of a signal.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    };
    let count = count();
    registers[REG_RAX] = count & 0xffff_ffff;
    registers[REG_RDX] = count >> 32;
    if length == RDTSCP.len() {
        registers[REG_RCX] = 0;
    }
    registers[REG_RIP] += i64::try_from(length).unwrap_or(0);
}

const REG_RAX: usize = libc::REG_RAX as usize;
const REG_RCX: usize = libc::REG_RCX as usize;
const REG_RDX: usize = libc::REG_RDX as usize;
const REG_RIP: usize = libc::REG_RIP as usize;

fn reads_counter(at: u64) -> Option<usize> {
    let code = std::ptr::with_exposed_provenance::<u8>(usize::try_from(at).ok()?);
    // SAFETY: the CPU has just fetched an instruction there; two bytes are the least that either
    // has.
    let first = unsafe { code.cast::<[u8; 2]>().read_unaligned() };
    if first == RDTSC {
        return Some(RDTSC.len());
    }
    if first != RDTSCP[..2] {
        return None;
    }
    // SAFETY: an instruction that begins like this one has a third byte.
    let all = unsafe { code.cast::<[u8; 3]>().read_unaligned() };
    (all == RDTSCP).then_some(RDTSCP.len())
}
