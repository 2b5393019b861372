//! What callbacks are handed: one word, chosen when code is translated. Blocks and accesses are
//! kept in memory, thousands of them, and the host misses its caches where it reads one. So what is
//! needed of every one is in the word itself, above the address, of which x86-64 has 47 bits for
//! programs.

use numasim_model::flow::{Block, Reference};
use numasim_model::num::index;
use std::marker::PhantomData;

/// Bits of an address.
pub const ADDRESS: u32 = 48;
const MASK: usize = (1 << ADDRESS) - 1;
/// Bit 48 of an access: it bypasses the caches where it stores.
const AROUND: usize = 1 << ADDRESS;
/// Bits 49 to 63 of an access: instructions of its block from this one on.
const REST: u32 = ADDRESS + 1;
/// Instructions of a block, at most: of QEMU's (`TCG_MAX_INSNS`).
const MOST: u64 = 512;

/// Where something is kept that is never freed, with 16 bits above its address.
pub struct Datum<T: 'static> {
    word: usize,
    of: PhantomData<&'static T>,
}

/// The begin of a block; above its address is the number of its instructions.
pub type Begin = Datum<Block>;
/// An instruction that accesses memory.
pub type Site = Datum<Reference>;

impl<T> Clone for Datum<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Datum<T> {}

impl<T> Datum<T> {
    /// `above`: the bits above the address, in their place.
    fn new(of: &'static T, above: usize) -> Self {
        let address = std::ptr::from_ref(of).expose_provenance();
        assert!(address <= MASK, "the host has addresses of more than 48 bits");
        Self { word: address | above, of: PhantomData }
    }

    /// The word that a callback is handed.
    pub fn word(self) -> usize {
        self.word
    }

    /// # Safety
    /// The word is one of [`Self::word`], of the same type.
    #[inline]
    pub unsafe fn from_word(word: usize) -> Self {
        Self { word, of: PhantomData }
    }

    /// All that is known of it.
    #[inline]
    pub fn get(self) -> &'static T {
        // SAFETY: made of one that is never freed.
        unsafe { &*std::ptr::with_exposed_provenance::<T>(self.word & MASK) }
    }
}

impl Begin {
    /// Of a block that was kept.
    pub fn of(block: &'static Block) -> Self {
        assert!(block.count() <= MOST, "a block of {} instructions", block.count());
        Self::new(block, index(block.count()) << ADDRESS)
    }

    /// How many instructions it has.
    #[inline]
    pub fn count(self) -> u64 {
        self.word as u64 >> ADDRESS
    }
}

impl Site {
    /// Of an instruction that overlaps with nothing.
    pub fn alone() -> Self {
        Self::of(&Reference::ALONE)
    }

    /// Of one that was kept.
    pub fn of(reference: &'static Reference) -> Self {
        assert!(u64::from(reference.rest) <= MOST, "a block of {} instructions", reference.rest);
        Self::new(reference, usize::from(reference.around) << ADDRESS | usize::from(reference.rest) << REST)
    }

    /// Instructions of the block from this one on.
    #[inline]
    pub fn rest(self) -> u64 {
        self.word as u64 >> REST
    }

    /// It bypasses the caches where it stores.
    #[inline]
    pub fn around(self) -> bool {
        self.word & AROUND != 0
    }
}
