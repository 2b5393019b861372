//! The dependences between the loads of a block of instructions: for each access the registers and
//! loads that its address depends on, and for each register what it depends on at the end of the
//! block. The crate `iced-x86` decodes instructions; this file knows no encoding.
//!
//! A value depends on everything that the instruction reads, including flags. A conditional move on
//! a loaded value therefore depends on it, and a branch does not (it is predicted). Departures: a
//! register of which 8 or 16 bits are written also depends on its old value; the stack pointer and
//! the pointers of string instructions depend on no load that moves them; in a block with more than
//! 64 loads the last ones count as one; x87 and MMX registers are always ready.

use crate::x86::Address;
use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};

/// Number of registers: general registers, the flags, vector registers.
pub(crate) const REGISTERS: usize = 33;
/// Number of loads of a block that have slots of their own.
pub(crate) const SLOTS: usize = 64;
const FLAGS: usize = 16;
const VECTORS: usize = 17;

/// A set of registers and loads, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Needs {
    pub registers: u64,
    pub loads: u64,
}

impl Needs {
    fn and(self, other: Self) -> Self {
        Self { registers: self.registers | other.registers, loads: self.loads | other.loads }
    }

    /// Whether the two sets have an element in common.
    #[inline]
    pub fn meet(self, others: Self) -> bool {
        self.registers & others.registers | self.loads & others.loads != 0
    }
}

/// An instruction that accesses memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reference {
    address: Needs,
    data: Needs,
    slot: u8,
    /// Number of instructions of the block from this one on.
    pub rest: u16,
    /// Whether nothing overlaps it: a locked instruction.
    pub alone: bool,
    /// Whether it is a store that bypasses the caches.
    pub around: bool,
}

impl Reference {
    /// A reference of an instruction that overlaps with nothing.
    pub const ALONE: Self = Self {
        address: Needs { registers: 0, loads: 0 },
        data: Needs { registers: 0, loads: 0 },
        slot: 0,
        rest: 0,
        alone: true,
        around: false,
    };

    #[inline]
    pub(crate) fn address(&self) -> Needs {
        self.address
    }

    #[inline]
    pub(crate) fn data(&self) -> Needs {
        self.data
    }

    #[inline]
    pub(crate) fn slot(&self) -> usize {
        usize::from(self.slot)
    }
}

/// The properties of an instruction that numasim needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Role {
    /// Its access to memory, if it has one.
    pub reference: Option<Reference>,
    /// Whether it waits for all loads before it.
    pub fence: bool,
    /// The operand of a prefetch.
    pub prefetch: Option<Prefetched>,
}

/// The operand of a prefetch instruction: the parts of an [`Address`], hashable as part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefetched {
    base: Option<u8>,
    index: Option<u8>,
    scale: u8,
    displacement: i64,
}

impl From<Prefetched> for Address {
    fn from(of: Prefetched) -> Self {
        let Prefetched { base, index, scale, displacement } = of;
        Self { base, index, scale, displacement, relative: false, length: 0 }
    }
}

/// A block of instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Block {
    count: u64,
    roles: Vec<Role>,
    changes: Vec<(u8, Needs)>,
    /// The registers in `changes`, one bit each, and the union of what they depend on.
    changed: u64,
    carried: Needs,
}

impl Block {
    /// The block of these instructions, in order: their bytes and their addresses.
    #[must_use]
    pub fn of<'a>(instructions: impl IntoIterator<Item = (&'a [u8], u64)>) -> Self {
        let mut flow = Flow::new();
        let mut roles: Vec<Role> = instructions.into_iter().map(|(bytes, at)| flow.step(bytes, at)).collect();
        for (role, rest) in roles.iter_mut().rev().zip(1..) {
            if let Some(reference) = &mut role.reference {
                reference.rest = rest;
            }
        }
        let changes: Vec<_> = (0_u8..).zip(flow.of).filter(|(at, needs)| *needs != itself(usize::from(*at))).collect();
        let changed = changes.iter().fold(0, |all, (register, _)| all | 1 << register);
        let carried = changes.iter().fold(Needs::default(), |all, (_, needs)| all.and(*needs));
        Self { count: roles.len() as u64, roles, changes, changed, carried }
    }

    /// Number of instructions.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The roles of its instructions.
    #[must_use]
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// The registers that it changes, one bit each.
    #[inline]
    pub(crate) fn changed(&self) -> u64 {
        self.changed
    }

    /// The union of what these registers depend on at its end.
    #[inline]
    pub(crate) fn carried(&self) -> Needs {
        self.carried
    }

    /// The registers that it changes, and what each depends on at its end.
    #[inline]
    pub(crate) fn changes(&self) -> impl Iterator<Item = (usize, Needs)> + '_ {
        self.changes.iter().map(|(register, needs)| (usize::from(*register), *needs))
    }
}

const fn itself(register: usize) -> Needs {
    Needs { registers: 1 << register, loads: 0 }
}

struct Flow {
    of: [Needs; REGISTERS],
    loads: u8,
    info: InstructionInfoFactory,
}

impl Flow {
    fn new() -> Self {
        Self { of: std::array::from_fn(itself), loads: 0, info: InstructionInfoFactory::new() }
    }

    fn step(&mut self, bytes: &[u8], at: u64) -> Role {
        let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
        if instruction.is_invalid() {
            return Role::default();
        }
        if let Some(prefetch) = prefetched(&instruction) {
            return Role { prefetch, ..Role::default() };
        }
        let reference = self.access(&instruction);
        Role { reference, fence: fences(&instruction), prefetch: None }
    }

    /// Propagates the dependences over an instruction; returns its access to memory.
    fn access(&mut self, instruction: &Instruction) -> Option<Reference> {
        let info = self.info.info(instruction);
        let of = |register: Register| number(register).map_or(Needs::default(), |at| self.of[at]);
        let memory = info.used_memory();
        let address = memory.iter().fold(Needs::default(), |all, one| all.and(of(one.base())).and(of(one.index())));
        let mut reads = if instruction.rflags_read() == 0 { Needs::default() } else { self.of[FLAGS] };
        for used in info.used_registers().iter().filter(|used| reading(used.access())) {
            reads = reads.and(of(used.register()));
        }
        if clears(instruction) {
            reads = Needs::default();
        }
        let slot = self.loads.min(63);
        let loads = memory.iter().any(|one| reading(one.access()));
        if loads {
            reads.loads |= 1 << slot;
            self.loads = self.loads.saturating_add(1);
        }
        for used in info.used_registers().iter().filter(|used| writing(used.access())) {
            let Some(at) = number(used.register()) else { continue };
            self.of[at] = if is_pointer(instruction, at) {
                self.of[at]
            } else if partial(used.register(), used.access()) {
                reads.and(self.of[at])
            } else {
                reads
            };
        }
        if instruction.rflags_modified() != 0 {
            self.of[FLAGS] = reads;
        }
        let (alone, around) = (is_locked(instruction), is_around(instruction));
        (!memory.is_empty()).then_some(Reference { address, data: reads, slot, rest: 0, alone, around })
    }
}

fn number(register: Register) -> Option<usize> {
    let full = register.full_register();
    if full.is_gpr() {
        Some(full.number())
    } else {
        (full.is_vector_register() && full.number() < REGISTERS - VECTORS).then(|| VECTORS + full.number())
    }
}

const fn reading(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

const fn writing(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// Whether part of the old value remains.
fn partial(register: Register, access: OpAccess) -> bool {
    access == OpAccess::CondWrite || (register.is_gpr() && register.size() < 4)
}

/// Whether a register moves by constants: stack pointers, and the pointers and counts of string
/// instructions.
fn is_pointer(instruction: &Instruction, register: usize) -> bool {
    (instruction.is_stack_instruction() && register == 4 && instruction.mnemonic() != Mnemonic::Leave)
        || (instruction.is_string_instruction() && [1, 6, 7].contains(&register))
}

/// Whether the result depends on nothing, as in `xor eax, eax`.
fn clears(instruction: &Instruction) -> bool {
    use Mnemonic::{Pxor, Sub, Vpxor, Vxorpd, Vxorps, Xor, Xorpd, Xorps};
    let last = instruction.op_count().saturating_sub(1);
    matches!(instruction.mnemonic(), Xor | Sub | Pxor | Xorps | Xorpd | Vpxor | Vxorps | Vxorpd)
        && instruction.op_register(last) != Register::None
        && instruction.op_register(last) == instruction.op_register(last.saturating_sub(1))
}

fn is_locked(instruction: &Instruction) -> bool {
    let memory = instruction.memory_base() != Register::None || instruction.memory_displ_size() > 0;
    instruction.has_lock_prefix() || (instruction.mnemonic() == Mnemonic::Xchg && memory)
}

/// Whether an instruction waits for the loads before it: by definition (Intel 64 manual, volume 3,
/// 9.2.5 and 9.3), or because it enters or leaves the kernel.
fn fences(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Cpuid, Hlt, In, Invlpg, Iretd, Iretq, Lfence, Mfence, Out, Rdtsc, Rdtscp, Serialize, Sfence, Syscall, Sysret,
        Sysretq, Wrmsr,
    };
    is_locked(instruction)
        || matches!(
            instruction.mnemonic(),
            Lfence | Mfence | Sfence | Cpuid | Rdtsc | Rdtscp | Serialize | Syscall | Sysret | Sysretq | Iretd | Iretq
        )
        || matches!(instruction.mnemonic(), Hlt | In | Out | Invlpg | Wrmsr)
}

fn is_around(instruction: &Instruction) -> bool {
    use Mnemonic::{Movntdq, Movnti, Movntpd, Movntps, Movntq, Vmovntdq, Vmovntpd, Vmovntps};
    let known = [Movntdq, Movnti, Movntpd, Movntps, Movntq, Vmovntdq, Vmovntpd, Vmovntps];
    known.contains(&instruction.mnemonic())
}

/// `None`: not a prefetch. `Some(None)`: a prefetch whose address is not known (a segment).
fn prefetched(instruction: &Instruction) -> Option<Option<Prefetched>> {
    use Mnemonic::{Prefetch, Prefetchnta, Prefetcht0, Prefetcht1, Prefetcht2, Prefetchw, Prefetchwt1};
    let known = [Prefetch, Prefetchnta, Prefetcht0, Prefetcht1, Prefetcht2, Prefetchw, Prefetchwt1];
    if !known.contains(&instruction.mnemonic()) {
        return None;
    }
    let general = |register: Register| -> Option<u8> {
        (register.is_gpr()).then(|| u8::try_from(register.full_register().number()).ok()).flatten()
    };
    let operand = Prefetched {
        base: general(instruction.memory_base()),
        index: general(instruction.memory_index()),
        scale: u8::try_from(instruction.memory_index_scale()).unwrap_or(1),
        displacement: instruction.memory_displacement64().cast_signed(),
    };
    Some((instruction.segment_prefix() == Register::None).then_some(operand))
}
