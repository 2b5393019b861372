//! The datum of a callback: one word, chosen when code is translated. There are thousands of blocks
//! and accesses in memory, and reading one misses the host's caches. The data that every callback
//! needs is therefore in the word itself, above the address, because x86-64 programs use only 47
//! bits for addresses.

use numasim_model::flow::{Block, Reference};
use numasim_model::num::index;
use std::marker::PhantomData;

/// Bits of an address.
pub const ADDRESS: u32 = 48;
const MASK: usize = (1 << ADDRESS) - 1;
/// Bit 48 of an access: it bypasses the caches if it stores.
const AROUND: usize = 1 << ADDRESS;
/// Bits 49 to 63 of an access: number of instructions of its block from this one on.
const REST: u32 = ADDRESS + 1;
/// The largest number of instructions of a block, which is QEMU's (`TCG_MAX_INSNS`).
const MOST: u64 = 512;

/// The address of a value that is never freed, with 16 more bits above the address.
pub struct Datum<T: 'static> {
    word: usize,
    of: PhantomData<&'static T>,
}

/// The beginning of a block; the number of its instructions is above its address.
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
    /// `above` has the bits above the address, in their final position.
    fn new(of: &'static T, above: usize) -> Self {
        let address = std::ptr::from_ref(of).expose_provenance();
        assert!(address <= MASK, "the host has addresses of more than 48 bits");
        Self { word: address | above, of: PhantomData }
    }

    /// The word that is passed to a callback.
    pub fn word(self) -> usize {
        self.word
    }

    /// # Safety
    /// The word was returned by [`Self::word`] of the same type.
    #[inline]
    pub unsafe fn from_word(word: usize) -> Self {
        Self { word, of: PhantomData }
    }

    /// The value that the datum points to.
    #[inline]
    pub fn get(self) -> &'static T {
        // SAFETY: made of one that is never freed.
        unsafe { &*std::ptr::with_exposed_provenance::<T>(self.word & MASK) }
    }
}

impl Begin {
    /// The datum of a block that was kept.
    pub fn of(block: &'static Block) -> Self {
        assert!(block.count() <= MOST, "a block of {} instructions", block.count());
        Self::new(block, index(block.count()) << ADDRESS)
    }

    /// The number of its instructions.
    #[inline]
    pub fn count(self) -> u64 {
        self.word as u64 >> ADDRESS
    }
}

impl Site {
    /// The datum of an instruction that overlaps with nothing.
    pub fn alone() -> Self {
        Self::of(&Reference::ALONE)
    }

    /// The datum of a reference that was kept.
    pub fn of(reference: &'static Reference) -> Self {
        assert!(u64::from(reference.rest) <= MOST, "a block of {} instructions", reference.rest);
        Self::new(reference, usize::from(reference.around) << ADDRESS | usize::from(reference.rest) << REST)
    }

    /// Number of instructions of the block from this one on.
    #[inline]
    pub fn rest(self) -> u64 {
        self.word as u64 >> REST
    }

    /// Whether it bypasses the caches if it stores.
    #[inline]
    pub fn around(self) -> bool {
        self.word & AROUND != 0
    }
}
