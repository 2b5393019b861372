//! A library that is preloaded into a traced program, so that the program's large allocations get
//! names. It passes each call of an allocation function on to the next library that has the
//! function, and reports the result together with the address in the program that made the call.
//!
//! A report is a system call with a number that Linux does not have. The plugin in QEMU sees the
//! call with its arguments, and the program sees no extra file, descriptor or signal. Outside QEMU
//! the kernel answers that there is no such call.
//!
//! The program's own accesses do not change, but the trace also contains those of this library:
//! about 16 for a malloc and its free, small or large, and 28,000 to 22 pages while the program is
//! loaded (measured with glibc 2.36). A program that is statically linked or uses another C library
//! has none of these.
//!
//! The library allocates nothing itself, and removes itself from the environment, so that programs
//! started by the traced program do not get it.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod next;
mod report;

use next::Next;
use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

static MALLOC: Next = Next::new(c"malloc");
static CALLOC: Next = Next::new(c"calloc");
static REALLOC: Next = Next::new(c"realloc");
static ALIGNED_ALLOC: Next = Next::new(c"aligned_alloc");
static MEMALIGN: Next = Next::new(c"memalign");
static POSIX_MEMALIGN: Next = Next::new(c"posix_memalign");
static NEW: Next = Next::new(c"_Znwm");
static NEW_ARRAY: Next = Next::new(c"_Znam");
static MMAP: Next = Next::new(c"mmap");

/// Run by the loader before the program starts.
#[used]
// SAFETY: the loader calls every pointer of this section once, with arguments that a function
// without parameters may ignore.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

static STARTED: AtomicBool = AtomicBool::new(false);

/// Takes this library, which stands first, out of `LD_PRELOAD`.
extern "C" fn start() {
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the name ends with a zero, and no other thread runs yet.
    let value = unsafe { libc::getenv(c"LD_PRELOAD".as_ptr()) };
    if value.is_null() {
        return;
    }
    // SAFETY: a string of the environment, which ends with a zero.
    let colon = unsafe { libc::strchr(value, c_int::from(b':')) };
    if colon.is_null() {
        // SAFETY: as above.
        unsafe { libc::unsetenv(c"LD_PRELOAD".as_ptr()) };
    } else {
        // SAFETY: behind a colon there is at least the zero.
        let rest = unsafe { colon.add(1) };
        // SAFETY: both end with a zero; the value is copied.
        unsafe { libc::setenv(c"LD_PRELOAD".as_ptr(), rest, 1) };
    }
}

/// Defines a function of the C library that passes the address it was called from as one more
/// argument, in that argument's register.
macro_rules! with_caller {
    ($name:ident, $register:literal, $inner:path, ($($argument:ident: $kind:ty),*) -> $result:ty) => {
        /// The C library's function of this name, with a report of what it allocates.
        ///
        /// # Safety
        /// As for the C library's function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
            naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {inner}", inner = sym $inner)
        }
    };
}

with_caller!(malloc, "rsi", one_size::<0>, (size: usize) -> *mut c_void);
with_caller!(_Znwm, "rsi", one_size::<1>, (size: usize) -> *mut c_void);
with_caller!(_Znam, "rsi", one_size::<2>, (size: usize) -> *mut c_void);
with_caller!(calloc, "rdx", zeroed, (count: usize, size: usize) -> *mut c_void);
with_caller!(realloc, "rdx", again, (old: *mut c_void, size: usize) -> *mut c_void);
with_caller!(aligned_alloc, "rdx", aligned::<0>, (align: usize, size: usize) -> *mut c_void);
with_caller!(memalign, "rdx", aligned::<1>, (align: usize, size: usize) -> *mut c_void);
with_caller!(posix_memalign, "rcx", aligned_at, (to: *mut *mut c_void, align: usize, size: usize) -> c_int);

unsafe extern "C-unwind" fn one_size<const WHICH: usize>(size: usize, caller: u64) -> *mut c_void {
    let next = [&MALLOC, &NEW, &NEW_ARRAY][WHICH];
    // SAFETY: this is the type of the three functions.
    let Some(next) = (unsafe { next.get::<unsafe extern "C-unwind" fn(usize) -> *mut c_void>() }) else {
        return next::early(size);
    };
    // SAFETY: as the program calls us.
    report::allocated(unsafe { next(size) }, size, caller)
}

unsafe extern "C-unwind" fn zeroed(count: usize, size: usize, caller: u64) -> *mut c_void {
    // SAFETY: this is the type of the function.
    let Some(next) = (unsafe { CALLOC.get::<unsafe extern "C" fn(usize, usize) -> *mut c_void>() }) else {
        return next::early(count.saturating_mul(size));
    };
    // SAFETY: as the program calls us.
    report::allocated(unsafe { next(count, size) }, count.saturating_mul(size), caller)
}

unsafe extern "C-unwind" fn again(old: *mut c_void, size: usize, caller: u64) -> *mut c_void {
    if next::is_early(old) {
        // SAFETY: as a call of the program.
        let new = unsafe { one_size::<0>(size, caller) };
        // SAFETY: `old` is ours, and `new` has `size` bytes, where it is not null.
        unsafe { next::move_early(old, new, size) };
        return new;
    }
    // SAFETY: this is the type of the function.
    let Some(next) = (unsafe { REALLOC.get::<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>() }) else {
        return next::early(size);
    };
    // SAFETY: as the program calls us.
    report::allocated(unsafe { next(old, size) }, size, caller)
}

unsafe extern "C-unwind" fn aligned<const WHICH: usize>(align: usize, size: usize, caller: u64) -> *mut c_void {
    let next = [&ALIGNED_ALLOC, &MEMALIGN][WHICH];
    // SAFETY: this is the type of both functions.
    let Some(next) = (unsafe { next.get::<unsafe extern "C" fn(usize, usize) -> *mut c_void>() }) else {
        return std::ptr::null_mut();
    };
    // SAFETY: as the program calls us.
    report::allocated(unsafe { next(align, size) }, size, caller)
}

unsafe extern "C-unwind" fn aligned_at(to: *mut *mut c_void, align: usize, size: usize, caller: u64) -> c_int {
    type Function = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;
    // SAFETY: this is the type of the function.
    let Some(next) = (unsafe { POSIX_MEMALIGN.get::<Function>() }) else { return libc::ENOMEM };
    // SAFETY: as the program calls us.
    let result = unsafe { next(to, align, size) };
    if result == 0 {
        // SAFETY: the function has just written to it.
        report::allocated(unsafe { *to }, size, caller);
    }
    result
}

/// `mmap` uses a register for each of its six arguments, so the seventh goes on the stack.
///
/// # Safety
/// As for the C library's function.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    at: *mut c_void,
    size: usize,
    rights: c_int,
    flags: c_int,
    file: c_int,
    from: i64,
) -> *mut c_void {
    naked_asm!("push [rsp]", "call {inner}", "add rsp, 8", "ret", inner = sym mapped)
}

/// The same function with offsets that always had 64 bits.
///
/// # Safety
/// As for the C library's function.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    at: *mut c_void,
    size: usize,
    rights: c_int,
    flags: c_int,
    file: c_int,
    from: i64,
) -> *mut c_void {
    naked_asm!("push [rsp]", "call {inner}", "add rsp, 8", "ret", inner = sym mapped)
}

unsafe extern "C" fn mapped(
    at: *mut c_void,
    size: usize,
    rights: c_int,
    flags: c_int,
    file: c_int,
    from: i64,
    caller: u64,
) -> *mut c_void {
    type Function = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, i64) -> *mut c_void;
    // SAFETY: this is the type of the function.
    let Some(next) = (unsafe { MMAP.get::<Function>() }) else { return libc::MAP_FAILED };
    // SAFETY: as the program calls us.
    let result = unsafe { next(at, size, rights, flags, file, from) };
    // A mapping without access rights is reserved for something else: a stack, an arena.
    if result != libc::MAP_FAILED && flags & libc::MAP_ANONYMOUS != 0 && rights != libc::PROT_NONE {
        report::allocated(result, size, caller);
    }
    result
}

/// Frees memory of the program.
///
/// # Safety
/// As for the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(pointer: *mut c_void) {
    static FREE: Next = Next::new(c"free");
    if next::is_early(pointer) {
        return;
    }
    // SAFETY: this is the type of the function.
    if let Some(next) = unsafe { FREE.get::<unsafe extern "C" fn(*mut c_void)>() } {
        // SAFETY: as the program calls us.
        unsafe { next(pointer) };
    }
}
