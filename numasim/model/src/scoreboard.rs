//! When the registers of a CPU have their values: for each register, the time at which the last
//! load that it depends on arrives. This file applies what flow.rs found out about a block of
//! instructions; it does not know instructions.
//!
//! If a value is stored before it has arrived, it is remembered by its address, so that a load of
//! it (a spilled register) waits as long. Only the last [`STORES`] such values are remembered.

use crate::flow::{Block, Needs, REGISTERS, Reference, SLOTS};

/// Number of stored values that are remembered.
const STORES: usize = 8;

/// See the head of the file. Times in picoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// When each register has the value that it had at the start of the block.
    ready: [u64; REGISTERS],
    /// When each load of this block arrives.
    loads: [u64; SLOTS],
    /// The registers and loads that are waited for; times of others have no meaning.
    late: Needs,
    /// Stored values by address / 8.
    stores: [(u64, u64); STORES],
    next: usize,
    /// One bit for each value of the low bits of a word: whether such a word may be among the
    /// stored ones.
    filter: u64,
    /// Scratch memory of [`Self::leave`], which would otherwise clear it at each block.
    into: [(usize, u64); REGISTERS],
    /// When all of these values have arrived.
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
            filter: 0,
            into: [(0, 0); REGISTERS],
            all: 0,
            block: None,
        }
    }
}

impl Scoreboard {
    /// Marks every register as having its value; times of registers that are not late are never
    /// read.
    pub fn clear(&mut self) {
        self.late = Needs::default();
        self.all = 0;
        if self.filter != 0 {
            self.stores = [(u64::MAX, 0); STORES];
            (self.next, self.filter) = (0, 0);
        }
    }

    /// Whether anything is waited for, as far as known.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.all > 0
    }

    /// A block begins, and the effects of the previous block on the registers take effect. True
    /// while anything is waited for.
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
        let late = self.late;
        // Registers that depend on something late, each with its new time. They are collected
        // first, because the old times are read until all new ones are known.
        let (mut into, mut count) = (0, 0);
        if block.carried().meet(late) {
            for (register, needs) in block.changes().filter(|(_, needs)| needs.meet(late)) {
                self.into[count] = (register, self.when(needs));
                into |= 1 << register;
                count += 1;
            }
        }
        for (register, time) in &self.into[..count] {
            self.ready[*register] = *time;
        }
        self.late = Needs { registers: late.registers & !block.changed() | into, loads: 0 };
    }

    /// When the address of an access is known.
    #[inline]
    pub fn address(&self, access: &Reference) -> u64 {
        self.when(access.address())
    }

    /// Records when a load arrives.
    pub fn load(&mut self, access: &Reference, time: u64) {
        let slot = access.slot();
        let before = if self.late.loads >> slot & 1 == 1 { self.loads[slot] } else { 0 };
        self.loads[slot] = time.max(before);
        self.late.loads |= 1 << slot;
        self.all = self.all.max(time);
    }

    /// Records a stored value, whether it has arrived or not.
    pub fn store(&mut self, access: &Reference, address: u64, now: u64) {
        let time = self.when(access.data());
        let word = address / 8;
        let old = self.stores.iter_mut().find(|(at, _)| *at == word);
        if let Some((_, old)) = old {
            *old = time;
        } else if time > now {
            self.filter |= bit(word);
            self.stores[self.next] = (word, time);
            self.next = (self.next + 1) % STORES;
        }
    }

    /// Whether a value that was stored at an address may not have arrived yet.
    #[inline]
    pub fn may_wait_for(&self, address: u64) -> bool {
        self.filter & bit(address / 8) != 0
    }

    /// When the value that was stored at an address arrives; 0 if it has arrived.
    #[inline]
    pub fn stored(&self, address: u64) -> u64 {
        if !self.may_wait_for(address) {
            return 0;
        }
        self.stores.iter().find(|(at, _)| *at == address / 8).map_or(0, |(_, time)| *time)
    }

    #[inline]
    fn when(&self, needs: Needs) -> u64 {
        let (registers, loads) = (needs.registers & self.late.registers, needs.loads & self.late.loads);
        bits(registers).map(|at| self.ready[at]).chain(bits(loads).map(|at| self.loads[at])).max().unwrap_or(0)
    }
}

const fn bit(word: u64) -> u64 {
    1 << (word % 64)
}

/// The positions of the bits that are set in a mask.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Loads, stores and sums that pass values on, and instructions that forget a value:
    /// `mov rax, [rbx]`; `mov rbx, [rax]`; `mov [rax], rbx`; `add rax, rbx`; `mov rcx, rax`;
    /// `mov bl, cl`; `cmovz rax, rcx`; `xor eax, eax`; `movq xmm0, rax`; `movsd xmm1, [rcx]`;
    /// `movq rbx, xmm1`.
    const CODE: [&[u8]; 11] = [
        &[0x48, 0x8b, 0x03],
        &[0x48, 0x8b, 0x18],
        &[0x48, 0x89, 0x18],
        &[0x48, 0x01, 0xd8],
        &[0x48, 0x89, 0xc1],
        &[0x88, 0xcb],
        &[0x48, 0x0f, 0x44, 0xc1],
        &[0x31, 0xc0],
        &[0x66, 0x48, 0x0f, 0x6e, 0xc0],
        &[0xf2, 0x0f, 0x10, 0x09],
        &[0x66, 0x48, 0x0f, 0x7e, 0xcb],
    ];

    /// All times of all registers, computed at the end of every block.
    #[derive(Clone)]
    struct Slow {
        ready: [u64; REGISTERS],
        loads: [u64; SLOTS],
    }

    impl Slow {
        fn when(&self, needs: Needs) -> u64 {
            let times = |mask: u64, times: &[u64]| bits(mask).map(|at| times[at]).max().unwrap_or(0);
            times(needs.registers, &self.ready).max(times(needs.loads, &self.loads))
        }

        fn leave(&mut self, block: &Block) {
            let before = self.clone();
            block.changes().for_each(|(register, needs)| self.ready[register] = before.when(needs));
            self.loads = [0; SLOTS];
        }
    }

    proptest! {
        /// Blocks of up to six instructions, whose loads arrive at given times, or at once.
        #[test]
        fn registers_wait_for_what_they_need_and_for_nothing_else(
            blocks in prop::collection::vec(prop::collection::vec((0..CODE.len(), prop_oneof![Just(0), 1..90_u64]), 1..7), 1..9),
        ) {
            let (mut score, mut slow) = (Scoreboard::default(), Slow { ready: [0; REGISTERS], loads: [0; SLOTS] });
            for code in &blocks {
                let block: &Block = Box::leak(Box::new(Block::of(code.iter().map(|(at, _)| (CODE[*at], 0)))));
                score.enter(block, 0);
                for (role, (_, time)) in block.roles().iter().zip(code) {
                    let Some(reference) = &role.reference else { continue };
                    prop_assert_eq!(score.address(reference), slow.when(reference.address()));
                    if *time > 0 {
                        score.load(reference, *time);
                        let slot = &mut slow.loads[reference.slot()];
                        *slot = (*time).max(*slot);
                    }
                }
                slow.leave(block);
            }
        }
    }
}
