//! Why the page cannot be used, as one line with the remedy, and why a request is refused.

use crate::layout::VERSION;
use std::io;
use std::path::PathBuf;

/// Why the page cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// there is no such device
    #[error("{folder}: no ivshmem device (PCI 1af4:1110) on this machine: it is no numasim guest, or QEMU \
             was started without `-device ivshmem-plain`", folder = folder.display())]
    NoDevice {
        /// where it was looked for
        folder: PathBuf,
    },
    /// a file cannot be opened or mapped
    #[error("{path}: cannot {what}: {source}{remedy}", path = path.display())]
    Unreadable {
        /// the file
        path: PathBuf,
        /// what was tried
        what: &'static str,
        /// what the kernel said
        source: io::Error,
        /// what can be done, as a half sentence
        remedy: &'static str,
    },
    /// the memory behind it is smaller than the page
    #[error("{path}: {bytes} bytes, and numasim's page has {expected}: give QEMU `-object \
             memory-backend-file,...,size=512K`", path = path.display())]
    TooSmall {
        /// the file
        path: PathBuf,
        /// its size
        bytes: u64,
        /// the size that it must have
        expected: usize,
    },
    /// it was never initialised
    #[error(
        "no numasim page: word 0 is {found:#018x}: QEMU runs without the plugin, or the plugin was not given \
         `page=PATH` of this memory"
    )]
    NoMagic {
        /// what stands there
        found: u64,
    },
    /// another layout
    #[error(
        "the page has version {found}, and this program knows version {VERSION}: build plugin and guest from one source"
    )]
    Version {
        /// the page's version
        found: u64,
    },
    /// a figure that cannot be
    #[error(
        "the page says {count} {what}, and the page holds 1 to {most}: it is damaged, or no page of numasim's plugin"
    )]
    Damaged {
        /// of what
        what: &'static str,
        /// how many
        count: u64,
        /// how many there can be
        most: usize,
    },
    /// the plugin only lets the guest run
    #[error("the plugin is not modelling yet, so nothing is counted: run `numasim-ctl start` in the guest")]
    NotModelling,
    /// no consistent reading
    #[error(
        "no consistent reading in {tries} tries (sequence {sequence}): the plugin ended while it wrote, or \
         publishes without a pause"
    )]
    Torn {
        /// how often it was read
        tries: u32,
        /// the sequence word at the end
        sequence: u64,
    },
    /// an impossible figure in the guest's request
    #[error("{0}")]
    Wish(#[from] Refusal),
    /// no thread can have a class
    #[error(
        "threads are not counted and cannot have classes: the plugin does not know how this kernel switches \
         threads; use a kernel with /proc/kallsyms and /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)"
    )]
    NoThreads,
    /// the plugin refused the guest's request
    #[error("the plugin refused generation {generation}: {why}")]
    Refused {
        /// the generation
        generation: u64,
        /// why
        why: Refusal,
    },
    /// the plugin did not answer
    #[error(
        "the plugin has not applied generation {generation} after {waited_ms} ms (it applied {applied} \
         last): QEMU has ended or stands still"
    )]
    Unanswered {
        /// the generation
        generation: u64,
        /// the last that was applied
        applied: u64,
        /// how long was waited
        waited_ms: u128,
    },
}

/// Why a class or a mask is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u64)]
pub enum Refusal {
    /// a class that the LLCs do not have
    #[error("a class of service beyond those of the machine")]
    Class = 1,
    /// a mask without a way
    #[error("a way mask without a bit: a class must have one way at least")]
    NoWay = 2,
    /// a mask with ways that the LLC does not have
    #[error("a way mask with bits beyond the ways of the last-level cache")]
    BeyondWays = 3,
    /// a CPU that there is not
    #[error("a CPU beyond those of the machine")]
    Cpu = 4,
    /// a last-level cache that there is not
    #[error("a last-level cache beyond those of the machine")]
    Llc = 5,
    /// a reason that this program does not know
    #[error("for a reason of the plugin's own (QEMU's standard error may say which)")]
    Other = 6,
}

impl Refusal {
    /// Its number on the page.
    #[must_use]
    pub const fn code(self) -> u64 {
        self as u64
    }

    /// The reason with this number.
    #[must_use]
    pub fn from_code(code: u64) -> Self {
        let all = [Self::Class, Self::NoWay, Self::BeyondWays, Self::Cpu, Self::Llc];
        all.into_iter().find(|refusal| refusal.code() == code).unwrap_or(Self::Other)
    }
}
