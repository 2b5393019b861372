//! Which CPU runs. It is read from QEMU's thread-local `current_cpu`, which Debian's builds export;
//! see the documentation of the crate.

use crate::{error, steady};
use std::ffi::c_void;

/// The CPUs that QEMU has made, and the place where QEMU says which of them runs.
#[derive(Default)]
pub struct Running {
    place: Option<usize>,
    cpus: Vec<usize>,
    thread: i32,
    last: usize,
    index: usize,
}

impl Running {
    /// Records a CPU when QEMU's thread of CPUs starts it.
    pub fn add(&mut self, index: usize) {
        // SAFETY: takes no arguments.
        let thread = unsafe { libc::gettid() };
        if self.cpus.is_empty() {
            self.thread = thread;
            let place = symbol().unwrap_or_else(|| error::end(NOT_EXPORTED));
            self.place = Some(place);
            steady::place(place);
        } else if self.thread != thread {
            error::end("QEMU runs its CPUs in several threads; start it with -accel tcg,thread=single");
        }
        self.cpus.resize(self.cpus.len().max(index + 1), 0);
        self.cpus[index] = self.now();
        if self.cpus[index] == 0 || self.cpus[..index].contains(&self.cpus[index]) {
            error::end("QEMU does not say which CPU it starts: this version is not known to numasim (10.0 is)");
        }
    }

    #[inline]
    fn now(&self) -> usize {
        // SAFETY: the place is the thread-local of the one thread that calls this, and lives as
        // long as it.
        self.place.map_or(0, |place| unsafe { *std::ptr::without_provenance::<usize>(place) })
    }

    /// QEMU's handle of the CPU that runs now.
    pub fn handle(&self) -> usize {
        self.last
    }

    /// The CPU that runs now.
    #[inline]
    pub fn cpu(&mut self) -> usize {
        let now = self.now();
        if now != self.last {
            self.last = now;
            self.index = self
                .cpus
                .iter()
                .position(|cpu| *cpu == now)
                .unwrap_or_else(|| error::end("QEMU runs a CPU that it never started"));
        }
        self.index
    }
}

const NOT_EXPORTED: &str = "this QEMU does not export 'current_cpu', by which numasim knows which CPU runs; \
                            use Debian's package of QEMU 10.0, or link with -rdynamic";

fn symbol() -> Option<usize> {
    // SAFETY: a C string, and the default search order.
    let place: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"current_cpu".as_ptr()) };
    (!place.is_null()).then(|| place.expose_provenance())
}
