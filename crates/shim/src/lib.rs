//! The allocation shim: a library that `isobar run` preloads into a program. It puts the program's
//! new pages where isobar's decision says.
//!
//! Linux lets no process set the memory policy of another process, and a thread can set only its
//! own. A mapping has a policy, too, and any thread of its process may set it. It applies to pages
//! that are not there yet; existing pages stay where they are. So a thread of the shim reads the
//! decision from the page (see `isobar_allocation`) and gives it as a policy to each private
//! anonymous mapping, even while a mapping is being filled. The thread that starts the program gets
//! it as its own policy, which its threads and children inherit, for mappings too young to have
//! been seen.
//!
//! Nothing of the program is replaced: no allocator, no `mmap`. Memory to which the program or its
//! owner has given a policy is left alone. The shim's thread takes no signal, allocates nothing,
//! takes no lock of the program, and ends when all other threads have.

#![cfg(target_os = "linux")]

mod follow;
mod policy;
mod shared;
mod sweep;

use isobar_allocation::Way;
use std::sync::atomic::{AtomicBool, Ordering};

/// The loader runs this before the program.
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
