//! Limits of a machine on the page, and of a guest's requests. Host and guest check by the same
//! rules, so the plugin refuses only what another program wrote.

use crate::error::{PageError, Refusal};
use crate::figures::{GuestSettings, Header};
use crate::layout::{MAX_CLASSES, MAX_CPUS, MAX_LLCS, MAX_NODES};
use crate::num::word;

/// The most ways that a mask has bits for.
const MAX_WAYS: usize = 64;

impl Header {
    /// Checks that the page can hold this machine.
    ///
    /// # Errors
    /// [`PageError::Damaged`] names the first figure that it cannot hold.
    pub fn check(&self) -> Result<(), PageError> {
        count("CPUs", word(self.cpus.len()), MAX_CPUS)?;
        count("last-level caches", word(self.llcs.len()), MAX_LLCS)?;
        count("nodes", word(self.nodes.len()), MAX_NODES)?;
        count("classes of service", word(self.classes), MAX_CLASSES)?;
        self.llcs.iter().try_for_each(|llc| count("ways", u64::from(llc.ways), MAX_WAYS).map(drop))
    }

    /// Checks that a class can be given to a CPU.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check_class(&self, cpu: usize, class: usize) -> Result<(), Refusal> {
        if cpu >= self.cpus.len() {
            return Err(Refusal::Cpu);
        }
        self.check_thread_class(class)
    }

    /// Checks that a class can be given to a thread.
    ///
    /// # Errors
    /// Why it cannot.
    pub const fn check_thread_class(&self, class: usize) -> Result<(), Refusal> {
        if class < self.classes { Ok(()) } else { Err(Refusal::Class) }
    }

    /// Checks that a class of an LLC can have these ways: at least one, and none that the LLC does
    /// not have. Gaps are allowed.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check_mask(&self, llc: usize, class: usize, mask: u64) -> Result<(), Refusal> {
        let figures = self.llcs.get(llc).ok_or(Refusal::Llc)?;
        match mask {
            _ if class >= self.classes => Err(Refusal::Class),
            0 => Err(Refusal::NoWay),
            _ if mask & !figures.full_mask() != 0 => Err(Refusal::BeyondWays),
            _ => Ok(()),
        }
    }

    /// Checks all settings.
    ///
    /// # Errors
    /// Why they are refused.
    pub fn check_wishes(&self, wishes: &GuestSettings) -> Result<(), Refusal> {
        let mut classes = wishes.classes.iter().enumerate();
        classes.try_for_each(|(cpu, class)| self.check_class(cpu, *class))?;
        wishes.threads.values().try_for_each(|class| self.check_thread_class(*class))?;
        let mut masks = wishes.masks.iter().enumerate();
        masks.try_for_each(|(llc, masks)| {
            masks.iter().enumerate().try_for_each(|(class, mask)| self.check_mask(llc, class, *mask))
        })
    }
}

/// Checks that a count is from 1 to its limit.
pub(crate) fn count(what: &'static str, count: u64, most: usize) -> Result<usize, PageError> {
    let fits = usize::try_from(count).ok().filter(|count| (1..=most).contains(count));
    fits.ok_or(PageError::Damaged { what, count, most })
}
