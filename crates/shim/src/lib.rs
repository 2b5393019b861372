//! The allocation shim: a library that `isobar run` preloads into a program, and that puts the
//! program's new pages where isobar's decision says.
//!
//! Linux lets no process set the memory policy of another, and a thread none but its own. A mapping
//! has a policy, too, and any thread of its process may set it: it holds for pages that are not
//! there yet, and pages that are stay where they are. So a thread of ours reads the decision from
//! the page (see `isobar_allocation`) and gives each private anonymous mapping the policy, also in
//! the midst of a mapping that is being filled. The thread that starts the program gets it as its
//! own policy, which its threads and children inherit, for mappings too young to have been seen.
//!
//! Nothing of the program is replaced: no allocator, no `mmap`. What the program's owner or the
//! program itself has given a policy is left alone. The thread takes no signal, allocates nothing,
//! takes no lock of the program, and ends when all others have.

#![cfg(target_os = "linux")]

mod follow;
mod policy;
mod shared;
mod sweep;

use isobar_allocation::Way;
use std::sync::atomic::{AtomicBool, Ordering};

/// Run by the loader before the program.
#[used]
// SAFETY: the loader calls every pointer of this section once, after the C library is set up, with
// arguments that a function without parameters may ignore.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

static STARTED: AtomicBool = AtomicBool::new(false);

extern "C" fn start() {
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(page) = shared::open() else { return };
    if !matches!(page.way(), Ok(Way::Shim | Way::File)) || policy::is_the_owners(policy::of_thread()) {
        return;
    }
    follow::adopt(page);
    follow::after_forks();
    follow::start();
}
