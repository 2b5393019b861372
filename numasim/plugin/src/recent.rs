//! Lines that the running CPU has used so lately that using them again changes nothing: in each set
//! of its private cache the line that was used last. Most accesses are to these, so generated code
//! looks them up in a few instructions, and calls nothing else then.
//!
//! Lines are virtual. They are forgotten wherever an address may come to mean another line, and
//! wherever another line may have become the last one used: when another CPU runs, at a flush, and
//! at instructions that change translation. A store counts only where the line is dirty already.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Places; a page has as many lines, so that virtual and physical lines have the same place.
const PLACES: usize = 64;
/// No address has this line.
const NONE: u64 = u64::MAX;

/// By the low bits of a line: the lines for loads, those for stores, how often one was found, and
/// which of the low bits count.
#[repr(C)]
struct Recent {
    loads: [AtomicU64; PLACES],
    stores: [AtomicU64; PLACES],
    found: AtomicU64,
    mask: AtomicU64,
}

static RECENT: Recent = Recent {
    loads: [const { AtomicU64::new(NONE) }; PLACES],
    stores: [const { AtomicU64::new(NONE) }; PLACES],
    found: AtomicU64::new(0),
    mask: AtomicU64::new(0),
};

/// The private caches have this many sets, a power of two: a place belongs to a set or to several.
pub fn sets(count: u64) {
    RECENT.mask.store(count.clamp(1, PLACES as u64) - 1, Relaxed);
}

#[inline]
fn place(line: u64) -> usize {
    usize::try_from(line & RECENT.mask.load(Relaxed)).unwrap_or(0) % PLACES
}

/// Whether an access to a line changes nothing; it is counted then.
#[inline]
pub fn has(line: u64, store: bool) -> bool {
    let lines = if store { &RECENT.stores } else { &RECENT.loads };
    let found = lines[place(line)].load(Relaxed) == line;
    if found {
        RECENT.found.store(RECENT.found.load(Relaxed) + 1, Relaxed);
    }
    found
}

/// A line has been used: it is the last one of its set.
#[inline]
pub fn used(line: u64, store: bool) {
    let place = place(line);
    RECENT.loads[place].store(line, Relaxed);
    let dirty = &RECENT.stores[place];
    dirty.store(if store || dirty.load(Relaxed) == line { line } else { NONE }, Relaxed);
}

/// A line must be looked up next time.
#[inline]
pub fn forget(line: u64) {
    let place = place(line);
    RECENT.loads[place].store(NONE, Relaxed);
    RECENT.stores[place].store(NONE, Relaxed);
}

/// All lines must be looked up next time.
pub fn forget_all() {
    RECENT.loads.iter().chain(&RECENT.stores).for_each(|line| line.store(NONE, Relaxed));
}

/// How often a line was found since this was last asked.
pub fn take_found() -> u64 {
    RECENT.found.swap(0, Relaxed)
}

// What generated code calls for a load and for a store: arguments as in QEMU's OnAccess, the
// address in rdx. What is not found goes on to the callback, a load with its return address.
std::arch::global_asm!(
    ".globl numasim_on_load",
    "numasim_on_load:",
    "mov r9, rdx",
    "shr r9, 6",
    "mov rax, [rip + {recent} + {mask}]",
    "and rax, r9",
    "lea r10, [rip + {recent}]",
    "cmp [r10 + 8*rax], r9",
    "jne 2f",
    "inc qword ptr [r10 + {found}]",
    "ret",
    "2: mov r8, [rsp]",
    "jmp {load}",
    ".globl numasim_on_store",
    "numasim_on_store:",
    "mov r9, rdx",
    "shr r9, 6",
    "mov rax, [rip + {recent} + {mask}]",
    "and rax, r9",
    "lea r10, [rip + {recent}]",
    "cmp [r10 + 8*rax + {stores}], r9",
    "jne 2f",
    "inc qword ptr [r10 + {found}]",
    "ret",
    "2: jmp {store}",
    recent = sym RECENT,
    stores = const std::mem::offset_of!(Recent, stores),
    found = const std::mem::offset_of!(Recent, found),
    mask = const std::mem::offset_of!(Recent, mask),
    load = sym crate::callbacks::load,
    store = sym crate::callbacks::store,
);

unsafe extern "C" {
    pub fn numasim_on_load(index: std::ffi::c_uint, info: u32, address: u64, data: *mut std::ffi::c_void);
    pub fn numasim_on_store(index: std::ffi::c_uint, info: u32, address: u64, data: *mut std::ffi::c_void);
}
