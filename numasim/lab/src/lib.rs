//! numasim: an emulated NUMA machine on which stock Linux, any scheduler and any daemon can be
//! compared, without NUMA hardware.
//!
//! The pure part knows no file and no process: [`experiment`] (what is asked), [`plan`] (which runs
//! in which order), [`machine`] (a real machine scaled down), [`cores`] (what its cores have
//! outstanding), [`kernel`] (its kernel's constants), [`command`] (QEMU's command line), [`ending`]
//! (how a boot ended, and what went wrong), [`metrics`], [`stats`] and [`report`]. The rest works
//! with files and processes: [`fetch`] (QEMU, kernel, tools), [`build`] (programs and plugin by
//! cargo and cc), [`image`] (the guest's files), [`qemu`] (a process that never outlives numasim),
//! [`scratch`] (a folder that does not, either), [`boot`] (a guest from its order to its lines),
//! [`brought`] (files that daemons wrote there), [`page_trace`] (which CPU accessed which page of a
//! command).

#![forbid(unsafe_code)]

pub mod boot;
pub mod brought;
pub mod build;
pub mod command;
pub mod cores;
pub mod ending;
pub mod error;
pub mod experiment;
pub mod fetch;
pub mod identity;
pub mod image;
pub mod kernel;
pub mod laws;
pub mod machine;
pub mod metrics;
pub mod overview;
pub mod page;
pub mod page_trace;
pub mod place;
pub mod plan;
pub mod qemu;
pub mod recipe;
pub mod records;
pub mod report;
pub mod scratch;
pub mod sets;
pub mod stats;
pub mod stopping;
pub mod stored;
pub mod summary;

pub use error::LabError;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that is set by the signals that ask a process to stop. A second signal ends the process
/// at once, and the guests with it.
#[must_use]
pub fn interrupted() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted));
        let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
    }
    interrupted
}
