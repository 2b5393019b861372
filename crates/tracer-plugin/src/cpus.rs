//! The threads of the program, as QEMU numbers them. Each has a table that only the thread itself
//! uses while it runs. While the thread is in a system call, which may never return, other threads
//! may take its counts.

use crate::table::Table;
use isobar_pages::trace::Row;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Maximum number of QEMU's thread numbers.
const MOST: usize = 1 << 16;

/// The number of the current slice.
pub static SLICE: AtomicU32 = AtomicU32::new(0);

static CPUS: [AtomicPtr<Cpu>; MOST] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];

/// A thread.
pub struct Cpu {
    /// Whether a thread uses the rest: the thread itself, while it runs in the program.
    busy: AtomicBool,
    /// The slice that its counts belong to.
    pub slice: u32,
    /// Its number in the trace.
    pub thread: u32,
    /// Whether the trace contains the thread.
    pub known: bool,
    /// Its counts.
    pub table: Table,
}

/// A thread starts to run under QEMU's number. Takes the counts of the thread that had the number
/// before.
pub fn begin(number: u32, thread: u32, rows: &mut Vec<Row>) {
    let Some(place) = CPUS.get(number as usize) else { return };
    let slice = SLICE.load(Ordering::Relaxed);
    let cpu = Cpu { busy: AtomicBool::new(true), slice, thread, known: false, table: Table::default() };
    let before = place.load(Ordering::Acquire);
    if !before.is_null() {
        // The earlier thread has ended, in a system call. Its entry stays claimed and is never
        // freed, because another thread may look at it.
        take(before, slice, rows, usize::MAX);
        claim(before, usize::MAX);
    }
    place.store(Box::into_raw(Box::new(cpu)), Ordering::Release);
}

/// The thread that is running now.
///
/// # Safety
/// Called from a callback of QEMU for this number, and the reference ends with the callback, so
/// there is no other reference. Not called within system calls.
#[inline(always)]
pub unsafe fn running<'a>(number: u32) -> Option<&'a mut Cpu> {
    let cpu = CPUS.get(number as usize)?.load(Ordering::Relaxed);
    // SAFETY: the pointer came from a box that is never freed, and the thread has claimed it.
    unsafe { cpu.as_mut() }
}

/// The thread enters a system call: other threads may take its counts until [`resume`].
pub fn pause(number: u32) {
    if let Some(cpu) = pointer(number) {
        // SAFETY: the pointer came from a box that is never freed; `busy` is atomic.
        unsafe { &(*cpu).busy }.store(false, Ordering::Release);
    }
}

/// The thread has returned from the system call.
pub fn resume(number: u32) {
    if let Some(cpu) = pointer(number) {
        claim(cpu, usize::MAX);
    }
}

/// Takes the counts of all threads that are not running; a running thread hands in its own. With
/// `patience`, waits this number of rounds for each thread and then takes its counts in any case.
/// That is for the end, when no thread runs.
pub fn take_paused(slice: u32, patience: Option<usize>, rows: &mut Vec<Row>) {
    for place in &CPUS {
        let cpu = place.load(Ordering::Acquire);
        if !cpu.is_null() {
            take(cpu, slice, rows, patience.unwrap_or(0));
        }
    }
}

/// Stops counting for all threads: in a child, and when the file cannot be written.
pub fn stop() {
    CPUS.iter().for_each(|place| place.store(std::ptr::null_mut(), Ordering::Release));
}

fn pointer(number: u32) -> Option<*mut Cpu> {
    let cpu = CPUS.get(number as usize)?.load(Ordering::Acquire);
    (!cpu.is_null()).then_some(cpu)
}

fn take(cpu: *mut Cpu, slice: u32, rows: &mut Vec<Row>, patience: usize) {
    let claimed = claim(cpu, patience);
    if !claimed && patience == 0 {
        return;
    }
    // SAFETY: claimed, so that no one else uses it; or it is the end, and no thread runs.
    let cpu = unsafe { &mut *cpu };
    cpu.table.take(cpu.thread, rows);
    cpu.slice = slice;
    if claimed {
        cpu.busy.store(false, Ordering::Release);
    }
}

/// Tries repeatedly to claim a thread; returns whether it was free.
fn claim(cpu: *mut Cpu, patience: usize) -> bool {
    // SAFETY: the pointer came from a box that is never freed; `busy` is atomic.
    let busy = unsafe { &(*cpu).busy };
    for _ in 0..=patience.min(usize::MAX - 1) {
        if !busy.swap(true, Ordering::Acquire) {
            return true;
        }
        std::thread::yield_now();
    }
    false
}
