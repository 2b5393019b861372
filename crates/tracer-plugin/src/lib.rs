//! The plugin that qemu-user loads for `isobar trace`: it counts the loads and stores of an
//! unmodified program by time slice, thread and page.
//!
//! ```text
//! lib      QEMU's calls: threads, blocks, accesses, system calls, the end
//! table    counts of one thread; asked on every access
//! cpus     who may use a table: its thread while it runs, anyone while it is in a system call
//! record   what is not written yet, and the thread that writes
//! placement on which nodes the kernel has the program's pages
//! space    regions from system calls; maps: those that were there before
//! orders   what `isobar trace` wants; api: QEMU's functions
//! ```
//!
//! An access that crosses the end of a page counts for the page in which it begins, because QEMU
//! reports only one address.

mod api;
mod cpus;
mod maps;
pub mod orders;
pub mod placement;
mod record;
mod space;
mod table;

use api::{Api, Block, Id, Info};
use isobar_pages::trace::{MOST_THREADS, RegionKind, Thread};
use orders::{Note, Orders, VARIABLE};
use placement::{BASE, PAGE_BITS, base};
use record::Record;
use space::{Call, number};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use table::Access;

const CLONE_VM: u64 = 0x100;
/// The longest path (PATH_MAX).
const LONGEST_PATH: usize = 4096;

static API: OnceLock<Api> = OnceLock::new();
static RECORD: OnceLock<Record> = OnceLock::new();
/// Mappings of the process before the program was loaded.
static BEFORE: OnceLock<Vec<maps::Mapping>> = OnceLock::new();
static THREADS: AtomicU32 = AtomicU32::new(0);
static STACK_KNOWN: AtomicBool = AtomicBool::new(false);
/// Whether this process is a child, which is not followed.
static CHILD: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The system call that the thread is in, and the length of the notes before it.
    static CALL: Cell<(Call, Option<u64>)> = const { Cell::new((Call { number: -1, arguments: [0; 6] }, None)) };
}

/// The version of the interface that this plugin is written for; QEMU reads it before it loads the
/// plugin.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = api::VERSION;

/// Called when QEMU has loaded the plugin. Returns 0 on success.
///
/// # Safety
/// Called by QEMU, with the arguments that it documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(id: Id, info: *const Info, _: c_int, _: *const *const c_char) -> c_int {
    // SAFETY: QEMU passes a valid structure.
    let whole_system = unsafe { (*info).system_emulation };
    match install(id, whole_system) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("isobar trace: {why}");
            1
        }
    }
}

fn install(id: Id, whole_system: bool) -> Result<(), String> {
    if whole_system {
        return Err("this plugin is for qemu-user, not for a whole system".to_owned());
    }
    let orders = std::env::var(VARIABLE).map_err(|_| format!("{VARIABLE} is not set: use `isobar trace`"))?;
    let orders: Orders = serde_json::from_str(&orders).map_err(|error| format!("{VARIABLE}: {error}"))?;
    let file = orders.trace.display().to_string();
    let record = Record::new(orders).map_err(|error| format!("{file}: {error}"))?;
    let api = Api::find().ok_or("this QEMU lacks functions of plugin interface 1")?;
    if !api.tells_loads_from_stores() {
        return Err("this QEMU says otherwise whether an access loads or stores".to_owned());
    }
    let _ = BEFORE.set(mappings());
    let _ = RECORD.set(record);
    let _ = API.set(api);
    // SAFETY: the handler only stores to atomics.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    api.register(id, on_thread, on_block, on_call, on_return, on_exit);
    std::thread::Builder::new()
        .name("isobar-trace".to_owned())
        .spawn(|| RECORD.get().map(Record::run))
        .map_err(|error| format!("no thread to write with: {error}"))?;
    Ok(())
}

fn mappings() -> Vec<maps::Mapping> {
    maps::parse(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default())
}

extern "C" fn in_child() {
    CHILD.store(true, Ordering::Relaxed);
    cpus::stop();
}

fn following() -> Option<&'static Record> {
    RECORD.get().filter(|_| !CHILD.load(Ordering::Relaxed))
}

/// Called in the thread that creates the new one.
unsafe extern "C" fn on_thread(_: Id, vcpu: c_uint) {
    let Some(record) = following() else { return };
    let thread = THREADS.fetch_add(1, Ordering::Relaxed);
    if thread >= MOST_THREADS {
        return;
    }
    record.hand_in(|rows| cpus::begin(vcpu, thread, rows));
    let (call, _) = CALL.get();
    if call.number == number::CLONE && call.arguments[0] & CLONE_VM != 0 {
        lock(&record.space).stack(call.arguments[1], thread);
    }
}

fn lock<T>(lock: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

unsafe extern "C" fn on_block(_: Id, block: *mut Block) {
    let Some(api) = API.get() else { return };
    // SAFETY: QEMU passes the block that it translates.
    let first = unsafe { api.watch(block, on_access) };
    if let Some((guest, here)) = first
        && BASE.set(here.wrapping_sub(guest)).is_ok()
    {
        program_is_loaded();
    }
}

/// The first block is being translated, so the program and its loader are mapped.
fn program_is_loaded() {
    let (Some(record), Some(before), Some(base)) = (following(), BEFORE.get(), BASE.get()) else { return };
    let mut space = lock(&record.space);
    for found in maps::files_since(before, &mappings()) {
        let kind = RegionKind::File { path: found.path, offset: found.offset };
        space.add(found.start.wrapping_sub(*base), found.end.wrapping_sub(*base), kind);
    }
}

unsafe extern "C" fn on_access(vcpu: c_uint, info: u32, address: u64, _: *mut c_void) {
    // SAFETY: QEMU calls this in the thread, outside of system calls.
    let Some(cpu) = (unsafe { cpus::running(vcpu) }) else { return };
    let access = Access::of(info);
    let page = address >> PAGE_BITS;
    if cpu.slice != cpus::SLICE.load(Ordering::Relaxed) || !cpu.table.count(page, access) {
        rare(cpu, address, access);
    }
}

/// The slow path: a slice is over, the thread runs for the first time, or the page is not in its
/// cache.
#[cold]
#[inline(never)]
fn rare(cpu: &mut cpus::Cpu, address: u64, access: Access) {
    let Some(record) = following() else { return };
    let slice = cpus::SLICE.load(Ordering::Relaxed);
    if cpu.slice != slice {
        record.hand_in(|rows| cpu.table.take(cpu.thread, rows));
        cpu.slice = slice;
    }
    if !cpu.known {
        cpu.known = true;
        // SAFETY: a system call without arguments that cannot fail.
        let tid = unsafe { libc::gettid() };
        record.thread(Thread { number: cpu.thread, tid: tid.cast_unsigned(), name: None });
    }
    let page = address >> PAGE_BITS;
    if cpu.table.count(page, access) {
        return;
    }
    if cpu.table.admit(page) && record.first_touch(page, cpu.thread) && cpu.thread == 0 {
        main_stack(record, address);
    }
    cpu.table.count(page, access);
}

/// Records the stack of the main thread. The first access of a program is on that stack: its loader
/// stores a return address there, and a program without a loader reads its arguments. Accesses to
/// mapped files are passed over.
fn main_stack(record: &Record, address: u64) {
    if STACK_KNOWN.load(Ordering::Relaxed) {
        return;
    }
    let base = base();
    let here = address.wrapping_add(base);
    let found = mappings().into_iter().find(|mapping| (mapping.start..mapping.end).contains(&here));
    if let Some(found) = found.filter(|found| !found.path.starts_with('/')) {
        STACK_KNOWN.store(true, Ordering::Relaxed);
        let (start, end) = (found.start.wrapping_sub(base), found.end.wrapping_sub(base));
        lock(&record.space).add(start, end, RegionKind::Stack(0));
    }
}

unsafe extern "C" fn on_call(
    _: Id,
    vcpu: c_uint,
    number: i64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    f: u64,
    _: u64,
    _: u64,
) {
    let Some(record) = following() else { return };
    let call = Call { number, arguments: [a, b, c, d, e, f] };
    let mut notes = None;
    cpus::pause(vcpu);
    let path = match number {
        number::EXECVE => Some(a),
        number::EXECVEAT => Some(b),
        _ => None,
    };
    if let Some(path) = path {
        let path = text(path).unwrap_or_else(|| "another program".to_owned());
        let missing = format!("the program became {path} (execve), which was not followed");
        notes = record.note(&Note::Missing(missing));
        record.close(false);
    }
    CALL.set((call, notes));
}

unsafe extern "C" fn on_return(_: Id, vcpu: c_uint, _: i64, result: i64) {
    let Some(record) = following() else { return };
    let (call, notes) = CALL.get();
    // If the call returned, the process did not become another program.
    if let Some(notes) = notes {
        record.shorten_notes(notes);
    }
    let made = matches!(call.number, number::FORK | number::VFORK)
        || call.number == number::CLONE && call.arguments[0] & CLONE_VM == 0;
    if made && result > 0 {
        record.note(&Note::Missing(format!("process {result}, which the program forked, was not followed")));
    }
    if call.number == number::REPORT {
        lock(&record.space).allocated(call);
    }
    if matches!(call.number, number::MMAP | number::MREMAP | number::BRK) {
        lock(&record.space).returned(call, result, path_of);
    }
    cpus::resume(vcpu);
}

unsafe extern "C" fn on_exit(_: Id, _: *mut c_void) {
    if let Some(record) = following() {
        record.close(true);
    }
}

/// The path of a descriptor's file.
fn path_of(descriptor: u64) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// A string in the program's memory. It is read through the kernel, which checks the address.
fn text(address: u64) -> Option<String> {
    let mut buffer = vec![0_u8; LONGEST_PATH];
    let here = address.wrapping_add(*BASE.get()?);
    let mut length = 0;
    // Reads up to the end of each page, because the next page may not be mapped.
    while length < LONGEST_PATH && !buffer[..length].contains(&0) {
        let from = here.wrapping_add(length as u64);
        let most = usize::try_from(4096 - from % 4096).ok()?.min(LONGEST_PATH - length);
        let local = libc::iovec { iov_base: buffer[length..].as_mut_ptr().cast(), iov_len: most };
        let remote =
            libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(usize::try_from(from).ok()?), iov_len: most };
        let own = std::process::id().cast_signed();
        // SAFETY: the buffer has `most` bytes; the kernel checks the other side.
        let read = unsafe { libc::process_vm_readv(own, &raw const local, 1, &raw const remote, 1, 0) };
        length += usize::try_from(read).ok().filter(|read| *read > 0)?;
    }
    let end = buffer.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&buffer[..end]).into_owned())
}
