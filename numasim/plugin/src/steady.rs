//! What the beginning of a block needs if nothing has to be decided: the CPU is the one that ran
//! before, it waits for no load, and the block ends before the window does. Generated code then
//! charges the block itself, in a few instructions (entries.rs). For all other blocks it calls the
//! world.
//!
//! At each beginning for which the world is called, it says whether the next blocks may be handled
//! in this way ([`go_on`]), and it revokes that when one of the conditions changes ([`stop`]).

use crate::datum::Begin;
use numasim_model::flow::Block;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The data that generated code reads and writes; one thread runs all CPUs.
#[repr(C)]
pub struct Steady {
    /// QEMU's handle of the CPU for whose blocks the rest holds, by whether a block is a program's
    /// or the kernel's. 0, which no CPU has: the world must be called.
    user: AtomicUsize,
    kernel: AtomicUsize,
    /// The address where QEMU says which CPU runs, and the stack of generated code.
    place: AtomicUsize,
    stack: AtomicUsize,
    /// Picoseconds of an instruction.
    instruction: AtomicU64,
    /// The address of the CPU's time, and the time that it must stay below.
    time: AtomicUsize,
    end: AtomicU64,
    /// The address of the CPU's instruction count.
    instructions: AtomicUsize,
    /// The datum of the block that began last; 0: the world knows the block.
    block: AtomicUsize,
}

pub static STEADY: Steady = Steady {
    user: AtomicUsize::new(0),
    kernel: AtomicUsize::new(0),
    place: AtomicUsize::new(0),
    stack: AtomicUsize::new(0),
    instruction: AtomicU64::new(0),
    time: AtomicUsize::new(0),
    end: AtomicU64::new(0),
    instructions: AtomicUsize::new(0),
    block: AtomicUsize::new(0),
};

impl Steady {
    /// Offsets of the fields that generated code uses.
    pub const USER: usize = std::mem::offset_of!(Self, user);
    pub const KERNEL: usize = std::mem::offset_of!(Self, kernel);
    pub const PLACE: usize = std::mem::offset_of!(Self, place);
    pub const STACK: usize = std::mem::offset_of!(Self, stack);
    pub const INSTRUCTION: usize = std::mem::offset_of!(Self, instruction);
    pub const TIME: usize = std::mem::offset_of!(Self, time);
    pub const END: usize = std::mem::offset_of!(Self, end);
    pub const INSTRUCTIONS: usize = std::mem::offset_of!(Self, instructions);
    pub const BLOCK: usize = std::mem::offset_of!(Self, block);
}

/// What is charged, to which CPU, and whether only for blocks of the kernel or of programs.
pub struct Charged<'a> {
    pub handle: usize,
    pub kernel: bool,
    pub instruction: u64,
    pub time: &'a Cell<u64>,
    pub end: u64,
    pub instructions: &'a Cell<u64>,
}

/// Sets the address where QEMU says which CPU runs.
pub fn place(place: usize) {
    STEADY.place.store(place, Relaxed);
}

/// From here on, blocks of this CPU need no call, until [`stop`].
#[inline]
pub fn go_on(charged: &Charged<'_>) {
    STEADY.instruction.store(charged.instruction, Relaxed);
    STEADY.time.store(charged.time.as_ptr().expose_provenance(), Relaxed);
    STEADY.end.store(charged.end, Relaxed);
    STEADY.instructions.store(charged.instructions.as_ptr().expose_provenance(), Relaxed);
    let [this, other] = if charged.kernel { [&STEADY.kernel, &STEADY.user] } else { [&STEADY.user, &STEADY.kernel] };
    other.store(0, Relaxed);
    this.store(charged.handle, Relaxed);
}

/// From here on, blocks need a call.
#[inline]
pub fn stop() {
    STEADY.user.store(0, Relaxed);
    STEADY.kernel.store(0, Relaxed);
}

/// The block that began last, if it began without a call.
#[inline]
pub fn take_block() -> Option<&'static Block> {
    let block = STEADY.block.load(Relaxed);
    STEADY.block.store(0, Relaxed);
    // SAFETY: what generated code was handed for a block.
    (block != 0).then(|| unsafe { Begin::from_word(block) }.get())
}
