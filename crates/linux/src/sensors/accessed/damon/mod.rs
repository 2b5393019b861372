//! DAMON, the kernel's access monitor (`Documentation/admin-guide/mm/damon/usage.rst`): it checks
//! the accessed bit of one page of every region at each sampling interval, and splits and merges
//! regions so that those with unlike access stand apart. Reads and writes both count.
//!
//! One kernel thread (kdamond) watches one process. Its settings are bounded: at most
//! `files::REGIONS` regions, each checked once in `files::SAMPLE_US`, whatever the size of the
//! process. Reading waits for the kernel thread to come round, so a thread of ours reads, and a
//! sample takes what it found last.
//!
//! DAMON has one set of settings for the whole machine. Where anybody else has set it up, isobar
//! keeps away. While isobar uses it, it holds a `flock` on `nr_kdamonds`, which the kernel releases
//! even after a kill -9; sampling intervals that no other tool would choose mark the settings as
//! isobar's. So settings with the mark and without the lock are what an isobar that was killed
//! left: they are taken away ([`put_back`]).

mod agreement;
mod files;
mod slots;

pub use slots::Damon;

use files::{Admin, State};
use std::path::Path;

/// Where the kernel has DAMON's settings.
pub const ADMIN: &str = "/sys/kernel/mm/damon/admin";

/// Takes away what an isobar that was killed left of DAMON's settings below `admin`; whether there
/// was anything. Settings of others, and of an isobar that runs, stay as they are.
///
/// # Errors
/// One line: what the kernel refused, and what to do.
pub fn put_back(admin: &Path) -> Result<bool, String> {
    let admin = Admin::new(admin);
    if !admin.exists() || admin.state() != Ok(State::Ours) {
        return Ok(false);
    }
    let Ok(_lock) = admin.lock() else { return Ok(false) };
    admin.clear().map(|()| true)
}
