//! Cache-line flushes and prefetches. QEMU treats these instructions as no-ops and reports no
//! access, so the address is computed from the registers. The physical address is taken from this
//! CPU's accesses to the page, because a line that is in a cache got there by an access. A prefetch
//! may concern a page that only other threads have used, so the accesses of other CPUs count as
//! well. Two programs that use the same address for different pages may therefore prefetch each
//! other's lines.

use crate::bytes;
use crate::qemu::{self, Register};
use numasim_model::x86::Address;
use std::ffi::CStr;

/// Pages that each CPU has used recently, by virtual page number: 16,384 per CPU, the newest of
/// those that share a place.
pub struct Pages {
    seen: Vec<Vec<(u64, u64)>>,
    /// Handles of the general registers, as numbered in encodings, and of [`CR3`].
    handles: [usize; 17],
}

/// The number of CR3 in this file; encodings have no such number.
pub const CR3: u8 = 16;

const PAGES: usize = 16_384;
const SHIFT: u32 = 12;

/// Names of the general registers in the order of their encoding, then CR3.
const NAMES: [&CStr; 17] = [
    c"rax", c"rcx", c"rdx", c"rbx", c"rsp", c"rbp", c"rsi", c"rdi", c"r8", c"r9", c"r10", c"r11", c"r12", c"r13",
    c"r14", c"r15", c"cr3",
];

impl Pages {
    pub fn new(cpus: usize) -> Self {
        Self { seen: vec![vec![(u64::MAX, 0); PAGES]; cpus], handles: [0; 17] }
    }

    #[inline]
    pub fn note(&mut self, cpu: usize, address: u64, physical: u64) {
        let page = address >> SHIFT;
        self.seen[cpu][place(page)] = (page, physical >> SHIFT);
    }

    pub fn physical(&self, cpu: usize, address: u64) -> Option<u64> {
        let page = address >> SHIFT;
        let (seen, physical) = self.seen[cpu][place(page)];
        (seen == page).then_some((physical << SHIFT) | (address & ((1 << SHIFT) - 1)))
    }

    /// As [`Self::physical`], or from any other CPU.
    pub fn known(&self, cpu: usize, address: u64) -> Option<u64> {
        self.physical(cpu, address).or_else(|| (0..self.seen.len()).find_map(|other| self.physical(other, address)))
    }

    /// Asks QEMU which registers can be read. Must be called within the callback of a new CPU.
    pub fn registers(&mut self) {
        // SAFETY: called where QEMU allows it; the array is ours to free.
        let list = unsafe { qemu::qemu_plugin_get_registers() };
        // SAFETY: as above: QEMU returns a valid list.
        let held = unsafe { &*list };
        // SAFETY: it holds this many descriptions.
        let registers = unsafe { std::slice::from_raw_parts(held.data.cast::<Register>(), held.len as usize) };
        for register in registers {
            // SAFETY: QEMU's names are C strings.
            let name = unsafe { CStr::from_ptr(register.name) };
            if let Some(number) = NAMES.iter().position(|known| *known == name) {
                self.handles[number] = register.handle.expose_provenance();
            }
        }
        // SAFETY: as above.
        unsafe { qemu::g_array_free(list, 1) };
    }

    /// A register's value. Must be called within a callback that was registered as reading
    /// registers.
    pub fn register(&self, number: u8) -> Option<u64> {
        let handle = self.handles[usize::from(number)];
        if handle == 0 {
            return None;
        }
        bytes::of_register(std::ptr::with_exposed_provenance_mut(handle))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits count")]
const fn place(page: u64) -> usize {
    page as usize % PAGES
}

/// The operand of a flush in translated code.
pub struct Operand {
    address: Address,
    /// The address of the instruction.
    at: u64,
}

impl Operand {
    /// Stores an operand for as long as QEMU lives, because QEMU does not say when it discards
    /// translated code.
    pub fn keep(address: Address, at: u64) -> usize {
        std::ptr::from_ref(Box::leak(Box::new(Self { address, at }))).expose_provenance()
    }

    /// An operand that is not relative to an instruction.
    pub const fn absolute(address: Address) -> Self {
        Self { address, at: 0 }
    }

    /// The address that the operand has now.
    pub fn address(&self, pages: &Pages) -> Option<u64> {
        let of = |register: Option<u8>| register.map_or(Some(0), |number| pages.register(number));
        let base = if self.address.relative {
            self.at.wrapping_add(u64::from(self.address.length))
        } else {
            of(self.address.base)?
        };
        let index = of(self.address.index)?.wrapping_mul(u64::from(self.address.scale));
        Some(base.wrapping_add(index).wrapping_add_signed(self.address.displacement))
    }
}
