//! The plugin that makes QEMU's system emulator a NUMA machine to measure on.
//!
//! QEMU reports to a plugin every access to memory with its physical address;
//! [`numasim_model::Machine`] says what the access costs, and [`numasim_model::Windows`] keeps the
//! time of each CPU. This crate connects the two with QEMU; it does not know caches and queues.
//!
//! The same library is preloaded into QEMU (`LD_PRELOAD`), where it replaces the C library's clocks
//! (`clock.rs`). QEMU's virtual clock, the guest's timers and its time-stamp counter then all show
//! modelled time. QEMU's own interface for that (`qemu_plugin_update_ns`) moves no clock under TCG
//! in version 10.0; it is used here only to make a CPU yield.
//!
//! One host thread runs all CPUs (`-accel tcg,thread=single`), so callbacks of different CPUs never
//! run at the same time. QEMU 10.0 then passes callbacks the index of the CPU that *translated* the
//! code, not of the CPU that runs it. The running CPU is therefore read from QEMU's `current_cpu`
//! (`running.rs`).

#![expect(unsafe_code, reason = "QEMU's plugin interface and the C library's clocks are C")]
// Symbols are declared to Rust with the types that they have in C.
#![allow(clippy::missing_safety_doc)]

mod arguments;
mod bytes;
mod caches;
mod callbacks;
mod datum;
mod entries;
mod error;
mod flush;
mod idle;
mod install;
mod leave;
mod qemu;
mod recent;
mod running;
mod steady;
mod translations;
mod tsc;
mod world;

use arguments::Arguments;
use std::ffi::{CStr, c_char, c_int};

/// The version of QEMU's plugin interface that this plugin is written for: 4, of QEMU 9.2 and
/// later.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = qemu::VERSION;

/// QEMU calls this when it has loaded the plugin; a result other than 0 makes QEMU end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: qemu::Id,
    info: *const qemu::Info,
    count: c_int,
    words: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU passes a valid description that outlives the call.
    let info = unsafe { &*info };
    let count = usize::try_from(count).unwrap_or(0);
    let words = match count {
        0 => &[],
        // SAFETY: QEMU passes as many pointers as it says.
        count => unsafe { std::slice::from_raw_parts(words, count) },
    };
    // SAFETY: they point to C strings.
    let words = words.iter().map(|word| unsafe { CStr::from_ptr(*word) }.to_string_lossy().into_owned());
    match Arguments::parse(words).and_then(|arguments| install::install(id, info, &arguments)) {
        Ok(()) => 0,
        Err(problem) => {
            error::notify(&problem);
            -1
        }
    }
}
