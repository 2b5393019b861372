//! Why the page cannot be used here.

use isobar_model::{CpuId, LlcId};
use numasim_page::PageError;

/// Why the page cannot be used, in one line with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum NumasimError {
    /// the page is missing, of another version, or nothing is modelled yet
    #[error("numasim: {source}; manage.{key} = \"numasim\" works only in a numasim guest: elsewhere remove the key")]
    Page {
        /// the setting that names the page
        key: &'static str,
        /// what is wrong with the page
        source: PageError,
    },
    /// the kernel has a CPU that the page does not have
    #[error(
        "numasim: the kernel has CPU {cpu}, but the page has {cpus} CPUs: boot the guest with the CPUs of the plugin's \
         machine file"
    )]
    Cpu {
        /// the CPU
        cpu: CpuId,
        /// number of CPUs that the page has
        cpus: usize,
    },
    /// the kernel's caches are not those of the page
    #[error(
        "numasim: the kernel's llc {llc} has CPUs of {count} last-level caches of the page: give QEMU `-smp` as many \
         sockets as the plugin's machine file has caches, or remove manage.ways"
    )]
    Llc {
        /// the kernel's LLC
        llc: LlcId,
        /// number of the page's LLCs to which its CPUs belong
        count: usize,
    },
    /// the kernel knows no caches
    #[error(
        "numasim: the kernel knows no last-level cache, so there are no ways to assign: give QEMU `-cpu` with \
         l3-cache=on, or remove manage.ways"
    )]
    NoLlc,
    /// the page's classes cannot be put back
    #[error("numasim: cache ways are not put back: {source}")]
    PutBack {
        /// the page's error
        source: PageError,
    },
}
