//! Sees accesses by DAMON, the kernel's access monitor
//! (`Documentation/admin-guide/mm/damon/usage.rst`). DAMON checks the accessed bit of one page of
//! every region at each sampling interval, and splits and merges regions so that memory of
//! different access rates is in different regions. Reads and writes both count.
//!
//! One kernel thread (kdamond) watches one process. Its work is bounded: at most `files::REGIONS`
//! regions, each checked once in `files::SAMPLE_US`, whatever the size of the process. Reading
//! waits for the kernel thread to handle the request, so a thread of isobar reads, and a sample
//! takes what that thread found last.
//!
//! DAMON has one set of settings for the whole machine. If anybody else has set it up, isobar does
//! not use it. While isobar uses it, it holds a `flock` on `nr_kdamonds`, which the kernel releases
//! even after a kill -9. Sampling intervals that no other tool would choose mark the settings as
//! isobar's. So settings with the mark but without the lock were left by an isobar that was killed,
//! and are removed ([`put_back`]).

mod agreement;
mod files;
mod slots;

pub use slots::Damon;

use files::{Admin, State};
use std::path::Path;

/// The folder in which the kernel keeps DAMON's settings.
pub const ADMIN: &str = "/sys/kernel/mm/damon/admin";

/// Removes the DAMON settings below `admin` that a killed isobar left, and returns whether there
/// were any. Settings of others, and of an isobar that runs, stay as they are.
///
/// # Errors
/// One line: the kernel's error, and what to do.
pub fn put_back(admin: &Path) -> Result<bool, String> {
    let admin = Admin::new(admin);
    if !admin.exists() || admin.state() != Ok(State::Ours) {
        return Ok(false);
    }
    let Ok(_lock) = admin.lock() else { return Ok(false) };
    admin.clear().map(|()| true)
}
