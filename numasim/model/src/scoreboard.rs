//! When the registers of a CPU have their values: the time at which the last load arrives that each
//! of them depends on. It applies what flow.rs found out about a block of instructions; it refuses
//! to know instructions.
//!
//! A value that is stored while it is not there yet is remembered by its address, so that a load of
//! it (a spilled register) waits as long. Only the last [`STORES`] are.

use crate::flow::{Block, Needs, REGISTERS, Reference, SLOTS};

/// Stored values that are remembered.
const STORES: usize = 8;

/// See the head of the file. Times in picoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// When each register has the value that it had at the start of the block; 0 where it has.
    ready: [u64; REGISTERS],
    /// When each load of this block arrives.
    loads: [u64; SLOTS],
    /// Those of either that were waited for.
    late: Needs,
    /// Stored values by address / 8.
    stores: [(u64, u64); STORES],
    next: usize,
    /// When all of these are there.
    all: u64,
    block: Option<&'static Block>,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self {
            ready: [0; REGISTERS],
            loads: [0; SLOTS],
            late: Needs::default(),
            stores: [(u64::MAX, 0); STORES],
            next: 0,
            all: 0,
            block: None,
        }
    }
}

impl Scoreboard {
    /// Every register has its value; times of what is not late are never read.
    pub fn clear(&mut self) {
        self.late = Needs::default();
        self.all = 0;
        self.stores = [(u64::MAX, 0); STORES];
        self.next = 0;
    }

    /// Whether anything is waited for, as far as is known.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.all > 0
    }

    /// A block begins; what the one before did to the registers holds. True while anything is
    /// waited for.
    #[inline]
    pub fn enter(&mut self, block: &'static Block, now: u64) -> bool {
        if self.all > 0 {
            if self.all <= now {
                self.clear();
            } else if let Some(before) = self.block {
                self.leave(before);
            }
        }
        self.block = Some(block);
        self.all > 0
    }

    /// A block began while nothing was waited for.
    #[inline]
    pub fn began(&mut self, block: &'static Block) {
        self.block = Some(block);
    }

    fn leave(&mut self, block: &Block) {
        if self.late == Needs::default() {
            return;
        }
        let mut late = self.late.registers;
        let mut times = [0; REGISTERS];
        for (time, (register, needs)) in times.iter_mut().zip(block.changes()) {
            *time = self.when(needs);
            late = late & !(1 << register) | u64::from(*time > 0) << register;
        }
        for (time, (register, _)) in times.iter().zip(block.changes()) {
            self.ready[register] = *time;
        }
        self.late = Needs { registers: late, loads: 0 };
    }

    /// When the address of an access is known.
    #[inline]
    pub fn address(&self, access: &Reference) -> u64 {
        self.when(access.address())
    }

    /// The load arrives then.
    pub fn load(&mut self, access: &Reference, time: u64) {
        let slot = access.slot();
        let before = if self.late.loads >> slot & 1 == 1 { self.loads[slot] } else { 0 };
        self.loads[slot] = time.max(before);
        self.late.loads |= 1 << slot;
        self.all = self.all.max(time);
    }

    /// A value is stored, if it is there yet or not.
    pub fn store(&mut self, access: &Reference, address: u64, now: u64) {
        let time = self.when(access.data());
        let word = address / 8;
        let old = self.stores.iter_mut().find(|(at, _)| *at == word);
        if let Some((_, old)) = old {
            *old = time;
        } else if time > now {
            self.stores[self.next] = (word, time);
            self.next = (self.next + 1) % STORES;
        }
    }

    /// When the value that was stored at an address is there; 0 where it is.
    pub fn stored(&self, address: u64) -> u64 {
        self.stores.iter().find(|(at, _)| *at == address / 8).map_or(0, |(_, time)| *time)
    }

    #[inline]
    fn when(&self, needs: Needs) -> u64 {
        let (registers, loads) = (needs.registers & self.late.registers, needs.loads & self.late.loads);
        bits(registers).map(|at| self.ready[at]).chain(bits(loads).map(|at| self.loads[at])).max().unwrap_or(0)
    }
}

/// The bits of a mask that are set.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        at
    })
}
