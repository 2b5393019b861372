//! The instructions of a timed load: flushing a line, fences, and reading the CPU's counter in
//! order. They depend on the architecture; other architectures have no probe.

#[cfg(target_arch = "x86_64")]
mod here {
    use std::arch::asm;

    /// Whether lines can be flushed and loads be timed.
    pub const SUPPORTED: bool = true;

    /// Evicts a line from every cache of the machine (CLFLUSH). The line must be mapped.
    #[inline(always)]
    pub fn flush(line: *const usize) {
        // SAFETY: a flush changes no value; the caller's line is mapped.
        unsafe { asm!("clflush [{0}]", in(reg) line, options(nostack, preserves_flags)) };
    }

    /// Waits until flushes are done.
    #[inline(always)]
    pub fn fence() {
        // SAFETY: fences, which touch nothing.
        unsafe { asm!("mfence", "lfence", options(nostack, preserves_flags)) };
    }

    /// The counter (RDTSC), read when everything before it is done, and before anything after it
    /// begins: LFENCE waits for loads to complete and holds back what follows (Intel SDM, volume 2;
    /// on AMD if it is dispatch-serialising, as Linux makes it).
    #[inline(always)]
    pub fn counter() -> u64 {
        let (low, high): (u64, u64);
        // SAFETY: reads a register; Linux lets every process do so.
        unsafe {
            asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high, options(nostack, preserves_flags));
        };
        high << 32 | low
    }
}

#[cfg(target_arch = "aarch64")]
mod here {
    use std::arch::asm;

    /// Whether lines can be flushed and loads be timed.
    pub const SUPPORTED: bool = true;

    /// Cleans and invalidates a line in every cache up to memory (DC CIVAC, which Linux permits to
    /// user space). The line must be mapped.
    #[inline(always)]
    pub fn flush(line: *const usize) {
        // SAFETY: it changes no value; the caller's line is mapped.
        unsafe { asm!("dc civac, {0}", in(reg) line, options(nostack, preserves_flags)) };
    }

    /// Waits until flushes are done.
    #[inline(always)]
    pub fn fence() {
        // SAFETY: barriers, which touch nothing.
        unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
    }

    /// The counter (CNTVCT), read when the loads before it are done, and before anything after it
    /// begins.
    #[inline(always)]
    pub fn counter() -> u64 {
        let ticks: u64;
        // SAFETY: reads a register; Linux lets every process do so.
        unsafe {
            asm!("dsb ld", "isb", "mrs {0}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
        };
        ticks
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod here {
    /// Whether lines can be flushed and loads be timed.
    pub const SUPPORTED: bool = false;

    /// Does nothing.
    pub fn flush(_line: *const usize) {}

    /// Does nothing.
    pub fn fence() {}

    /// Always 0.
    pub fn counter() -> u64 {
        0
    }
}

pub use here::{SUPPORTED, counter, fence, flush};
