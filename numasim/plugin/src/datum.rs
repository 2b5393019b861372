//! What callbacks are handed: one word, chosen when code is translated. Blocks and accesses are
//! kept in memory, thousands of them, and the host misses its caches where it reads one. So what is
//! needed of every one is in the word itself, above the address, of which x86-64 has 47 bits for
//! programs.

use numasim_model::flow::{Block, Reference};
use numasim_model::num::index;

/// Bits of an address.
pub const ADDRESS: u32 = 48;
const MASK: usize = (1 << ADDRESS) - 1;
/// Bit 48 of an access: it bypasses the caches where it stores.
const AROUND: usize = 1 << ADDRESS;
/// Bits 49 to 63 of an access: instructions of its block from this one on.
const REST: u32 = ADDRESS + 1;
/// Instructions of a block, at most: of QEMU's (`TCG_MAX_INSNS`).
const MOST: u64 = 512;

/// An address as a word with room above it.
fn address<T>(of: &'static T) -> usize {
    let address = std::ptr::from_ref(of).expose_provenance();
    assert!(address <= MASK, "the host has addresses of more than 48 bits");
    address
}

/// The begin of a block; bits 48 to 63 are the number of its instructions.
#[derive(Clone, Copy)]
pub struct Begin(usize);

impl Begin {
    /// Of one that was kept.
    pub fn of(block: &'static Block) -> Self {
        assert!(block.count() <= MOST, "a block of {} instructions", block.count());
        Self(address(block) | index(block.count()) << ADDRESS)
    }

    /// The word that a callback is handed.
    pub fn word(self) -> usize {
        self.0
    }

    /// # Safety
    /// The word is one of [`Self::word`].
    #[inline]
    pub unsafe fn from_word(word: usize) -> Self {
        Self(word)
    }

    /// How many instructions it has.
    #[inline]
    pub fn count(self) -> u64 {
        self.0 as u64 >> ADDRESS
    }

    /// All that is known of it.
    #[inline]
    pub fn block(self) -> &'static Block {
        // SAFETY: made of one that is never freed.
        unsafe { &*std::ptr::with_exposed_provenance::<Block>(self.0 & MASK) }
    }
}

/// An instruction that accesses memory.
#[derive(Clone, Copy)]
pub struct Site(usize);

impl Site {
    /// Of an instruction that overlaps with nothing.
    pub fn alone() -> Self {
        Self::of(&Reference::ALONE)
    }

    /// Of one that was kept.
    pub fn of(reference: &'static Reference) -> Self {
        assert!(u64::from(reference.rest) <= MOST, "a block of {} instructions", reference.rest);
        Self(address(reference) | usize::from(reference.around) << ADDRESS | usize::from(reference.rest) << REST)
    }

    /// The word that a callback is handed.
    pub fn word(self) -> usize {
        self.0
    }

    /// # Safety
    /// The word is one of [`Self::word`].
    #[inline]
    pub unsafe fn from_word(word: usize) -> Self {
        Self(word)
    }

    /// Instructions of the block from this one on.
    #[inline]
    pub fn rest(self) -> u64 {
        self.0 as u64 >> REST
    }

    /// It bypasses the caches where it stores.
    #[inline]
    pub fn around(self) -> bool {
        self.0 & AROUND != 0
    }

    /// All that is known of it.
    #[inline]
    pub fn reference(self) -> &'static Reference {
        // SAFETY: made of one that is never freed.
        unsafe { &*std::ptr::with_exposed_provenance::<Reference>(self.0 & MASK) }
    }
}
