//! The few x86 instructions that numasim must recognise by their bytes: instructions that halt or
//! pause a CPU, read its time-stamp counter or flush a cache line, atomic instructions, repeated
//! string instructions, and the one by which a guest talks to numasim. Encodings: Intel 64 manual,
//! volume 2. No other instruction is known here.

/// The meaning of an instruction for numasim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// HLT: the CPU waits for an interrupt.
    Halt,
    /// PAUSE: a spinning CPU.
    Pause,
    /// RDTSC or RDTSCP.
    Counter,
    /// MOV to a control register, INVLPG or INVPCID: addresses may have other meanings from here
    /// on.
    Translation,
    /// MOV to CR3 from a general register: a switch to another address space.
    Space(u8),
    /// SYSCALL.
    Call,
    /// CLFLUSH, CLFLUSHOPT or CLWB of an address. CLWB is treated as a flush: the manual allows
    /// CLWB to keep the line, but does not require it.
    Flush(Address),
    /// [`MAGIC`] with an operation.
    Magic(u16),
}

/// Upper half of the displacement of the long NOP by which a guest talks to numasim:
/// `nopl disp32(%rax,%rax,1)`. No privilege is needed.
pub const MAGIC: u32 = 0x4E53_0000;

/// The address of an operand: `base + index * scale + displacement`. Registers as numbered in the
/// encoding (0 rax ... 15 r15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Base register, or none.
    pub base: Option<u8>,
    /// Index register, or none.
    pub index: Option<u8>,
    /// 1, 2, 4 or 8.
    pub scale: u8,
    /// Displacement.
    pub displacement: i64,
    /// Whether the address is relative to the next instruction.
    pub relative: bool,
    /// Length of the instruction.
    pub length: u8,
}

/// The meaning of an instruction in 64-bit mode; `None` for all others.
#[must_use]
pub fn special(bytes: &[u8]) -> Option<Special> {
    match bytes {
        [0xf4] => Some(Special::Halt),
        [0xf3, 0x90] => Some(Special::Pause),
        [0x0f, 0x31] | [0x0f, 0x01, 0xf9] => Some(Special::Counter),
        [0x0f, 0x1f, 0x84, 0x00, tail @ ..] => magic(tail),
        [0x0f, 0x05] => Some(Special::Call),
        _ if translates(bytes) => Some(space(bytes).map_or(Special::Translation, Special::Space)),
        _ => flush(bytes).map(Special::Flush),
    }
}

fn translates(bytes: &[u8]) -> bool {
    match prefixes(bytes).1 {
        [0x0f, 0x22, ..] | [0x0f, 0x38, 0x82, ..] => true,
        [0x0f, 0x01, modrm, ..] => modrm >> 6 != 3 && (modrm >> 3) & 7 == 7,
        _ => false,
    }
}

/// `[REX] 0F 22 /3`: the register that is written to CR3. With REX.R it is another control
/// register.
fn space(bytes: &[u8]) -> Option<u8> {
    let (prefixes, rest) = prefixes(bytes);
    let rex = prefixes.last().filter(|last| **last >> 4 == 4).copied().unwrap_or(0);
    let [0x0f, 0x22, modrm] = rest else { return None };
    ((modrm >> 3) & 7 == 3 && rex & 4 == 0).then_some((modrm & 7) | ((rex & 1) << 3))
}

fn magic(tail: &[u8]) -> Option<Special> {
    let displacement = u32::from_le_bytes(tail.try_into().ok()?);
    let [low, high, ..] = displacement.to_le_bytes();
    (displacement & 0xffff_0000 == MAGIC).then(|| Special::Magic(u16::from_le_bytes([low, high])))
}

/// A repeated string instruction on memory. QEMU executes tens of thousands of its steps as one
/// instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// REP MOVS: a load and a store per step.
    Move,
    /// REP STOS: a store per step.
    Store,
    /// REP LODS and SCAS: a load per step.
    Scan,
    /// REP CMPS: two loads per step.
    Compare,
}

/// Cycles before the first step: some 35 from Nehalem to Broadwell (Intel's optimization manual, on
/// fast strings).
pub const REPEAT_CYCLES: u32 = 35;
/// Bytes that REP MOVS and STOS move in a cycle (same source).
const FAST_BYTES: u64 = 16;
/// Cycles of a step of REP LODS, SCAS and CMPS (Agner Fog, instruction tables, Nehalem: 2).
const STEP_CYCLES: u64 = 2;

impl Repeated {
    /// Time of a step without its accesses, in picoseconds, given the picoseconds of a cycle and
    /// the bytes of an element. For CMPS it is the share of each of its two loads.
    #[must_use]
    pub const fn step(self, cycle: u64, bytes: u64) -> u64 {
        match self {
            Self::Move | Self::Store => cycle * bytes / FAST_BYTES,
            Self::Scan => cycle * STEP_CYCLES,
            Self::Compare => cycle * STEP_CYCLES / 2,
        }
    }
}

/// Which repeated string instruction it is, and the bytes of an element; `None` for all others.
#[must_use]
pub fn repeated(bytes: &[u8]) -> Option<(Repeated, u64)> {
    let (prefixes, opcode) = prefixes(bytes);
    if !prefixes.iter().any(|prefix| matches!(prefix, 0xf2 | 0xf3)) {
        return None;
    }
    let [opcode] = opcode else { return None };
    let kind = match opcode {
        0xa4 | 0xa5 => Repeated::Move,
        0xa6 | 0xa7 => Repeated::Compare,
        0xaa | 0xab => Repeated::Store,
        0xac..=0xaf => Repeated::Scan,
        _ => return None,
    };
    let wide = prefixes.iter().any(|prefix| matches!(prefix, 0x48..=0x4f));
    let bytes = match (opcode & 1 == 1, wide) {
        (false, _) => 1,
        (true, true) => 8,
        (true, false) if prefixes.contains(&0x66) => 2,
        (true, false) => 4,
    };
    Some((kind, bytes))
}

/// Whether it reads and writes memory atomically: with LOCK, or XCHG, which needs no LOCK.
#[must_use]
pub fn is_atomic(bytes: &[u8]) -> bool {
    let (prefixes, opcode) = prefixes(bytes);
    prefixes.contains(&0xf0) || matches!(opcode, [0x86 | 0x87, modrm, ..] if modrm >> 6 != 3)
}

/// Splits off the prefixes, including REX, from the rest.
fn prefixes(bytes: &[u8]) -> (&[u8], &[u8]) {
    let is = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    bytes.split_at(bytes.iter().position(|byte| !is(byte)).unwrap_or(bytes.len()))
}

/// `[66] [REX] 0F AE /7` (CLFLUSH, with 66 CLFLUSHOPT) and `66 0F AE /6` (CLWB), with a memory
/// operand. Segment overrides are not handled.
fn flush(bytes: &[u8]) -> Option<Address> {
    let (opt, rest) = match bytes {
        [0x66, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (rex, rest) = match rest {
        [rex @ 0x40..=0x4f, rest @ ..] => (*rex, rest),
        rest => (0, rest),
    };
    let [0x0f, 0xae, modrm, tail @ ..] = rest else { return None };
    let wanted = matches!((modrm >> 3) & 7, 7) || (opt && (modrm >> 3) & 7 == 6);
    if !wanted || modrm >> 6 == 3 {
        return None;
    }
    operand(rex, *modrm, tail).map(|address| Address { length: u8::try_from(bytes.len()).unwrap_or(15), ..address })
}

fn operand(rex: u8, modrm: u8, tail: &[u8]) -> Option<Address> {
    let (mode, low) = (modrm >> 6, modrm & 7);
    let (mut address, tail) = if low == 4 { sib(rex, mode, tail)? } else { (plain(rex, mode, low), tail) };
    let wide = mode == 2 || (mode == 0 && (address.relative || (low == 4 && address.base.is_none())));
    address.displacement = match (mode, wide) {
        (_, true) => i64::from(i32::from_le_bytes(tail.get(..4)?.try_into().ok()?)),
        (1, _) => i64::from(i8::from_le_bytes(tail.get(..1)?.try_into().ok()?)),
        _ => 0,
    };
    Some(address)
}

fn plain(rex: u8, mode: u8, low: u8) -> Address {
    let relative = mode == 0 && low == 5;
    let base = (!relative).then_some(low | ((rex & 1) << 3));
    Address { base, index: None, scale: 1, displacement: 0, relative, length: 0 }
}

fn sib(rex: u8, mode: u8, tail: &[u8]) -> Option<(Address, &[u8])> {
    let (sib, tail) = tail.split_first()?;
    let index = ((sib >> 3) & 7) | ((rex & 2) << 2);
    let base = sib & 7;
    let base = (!(base == 5 && mode == 0)).then_some(base | ((rex & 1) << 3));
    let address = Address {
        base,
        index: (index != 4).then_some(index),
        scale: 1 << (sib >> 6),
        displacement: 0,
        relative: false,
        length: 0,
    };
    Some((address, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(bytes: &[u8]) -> Address {
        match special(bytes) {
            Some(Special::Flush(address)) => address,
            other => panic!("{bytes:x?} is {other:?}"),
        }
    }

    const NOTHING: Address = Address { base: None, index: None, scale: 1, displacement: 0, relative: false, length: 0 };

    // Encodings as the GNU assembler writes them.
    #[test]
    fn flushes_are_known_with_their_operands() {
        assert_eq!(address(&[0x0f, 0xae, 0x38]), Address { base: Some(0), length: 3, ..NOTHING }, "clflush (%rax)");
        assert_eq!(
            address(&[0x66, 0x0f, 0xae, 0x3f]),
            Address { base: Some(7), length: 4, ..NOTHING },
            "clflushopt (%rdi)"
        );
        assert_eq!(
            address(&[0x41, 0x0f, 0xae, 0x7c, 0x24, 0x40]),
            Address { base: Some(12), displacement: 64, length: 6, ..NOTHING },
            "clflush 0x40(%r12)"
        );
        assert_eq!(
            address(&[0x42, 0x0f, 0xae, 0x3c, 0xf0]),
            Address { base: Some(0), index: Some(14), scale: 8, length: 5, ..NOTHING },
            "clflush (%rax,%r14,8)"
        );
        assert_eq!(
            address(&[0x0f, 0xae, 0x3d, 0xf0, 0xff, 0xff, 0xff]),
            Address { displacement: -16, relative: true, length: 7, ..NOTHING },
            "clflush -16(%rip)"
        );
        assert_eq!(
            address(&[0x0f, 0xae, 0x3c, 0x25, 0x00, 0x10, 0x00, 0x00]),
            Address { displacement: 4096, length: 8, ..NOTHING },
            "clflush 0x1000"
        );
        assert_eq!(address(&[0x66, 0x0f, 0xae, 0x30]), Address { base: Some(0), length: 4, ..NOTHING }, "clwb (%rax)");
    }

    // As the GNU assembler writes them.
    #[test]
    fn repeated_strings_and_atomics_are_known() {
        assert_eq!(repeated(&[0xf3, 0xaa]), Some((Repeated::Store, 1)), "rep stosb");
        assert_eq!(repeated(&[0xf3, 0x48, 0xab]), Some((Repeated::Store, 8)), "rep stosq");
        assert_eq!(repeated(&[0xf3, 0x66, 0xa5]), Some((Repeated::Move, 2)), "rep movsw");
        assert_eq!(repeated(&[0xf2, 0xae]), Some((Repeated::Scan, 1)), "repne scasb");
        assert_eq!(repeated(&[0xf3, 0xa6]), Some((Repeated::Compare, 1)), "repe cmpsb");
        for other in [&[0xaa][..], &[0xf3, 0x90], &[0xf3, 0x0f, 0x10, 0x00], &[0xf3], &[]] {
            assert_eq!(repeated(other), None, "{other:x?}");
        }
        assert!(is_atomic(&[0xf0, 0x0f, 0xb1, 0x17]), "lock cmpxchg %edx,(%rdi)");
        assert!(is_atomic(&[0x87, 0x07]) && !is_atomic(&[0x87, 0xc3]), "xchg with memory, and without");
        assert!(is_atomic(&[0x48, 0x87, 0x07]) && !is_atomic(&[0x48, 0x89, 0x07]) && !is_atomic(&[]));
    }

    /// With a cycle of 160 ps, a byte takes a sixteenth of it.
    #[test]
    fn a_step_takes_what_the_manuals_say() {
        assert_eq!((Repeated::Store.step(160, 1), Repeated::Move.step(160, 8)), (10, 80));
        assert_eq!((Repeated::Scan.step(160, 1), Repeated::Compare.step(160, 1)), (320, 160));
    }

    #[test]
    fn others_are_not() {
        assert_eq!(special(&[0xf4]), Some(Special::Halt));
        assert_eq!(special(&[0xf3, 0x90]), Some(Special::Pause));
        assert_eq!(special(&[0x0f, 0x31]), Some(Special::Counter));
        assert_eq!(special(&[0x0f, 0x01, 0xf9]), Some(Special::Counter));
        assert_eq!(special(&[0x0f, 0x1f, 0x84, 0x00, 0x01, 0x00, 0x53, 0x4e]), Some(Special::Magic(1)));
        for bytes in [&[0x0f, 0x22, 0xe7][..], &[0x0f, 0x01, 0x3f], &[0x66, 0x0f, 0x38, 0x82, 0x07]] {
            assert_eq!(special(bytes), Some(Special::Translation), "mov %rdi,%cr4; invlpg (%rdi); invpcid (%rdi),%rax");
        }
        assert_eq!(special(&[0x44, 0x0f, 0x22, 0xc0]), Some(Special::Translation), "mov %rax,%cr8");
        assert_eq!(special(&[0x0f, 0x22, 0xdf]), Some(Special::Space(7)), "mov %rdi,%cr3");
        assert_eq!(special(&[0x41, 0x0f, 0x22, 0xdc]), Some(Special::Space(12)), "mov %r12,%cr3");
        assert_eq!(special(&[0x0f, 0x05]), Some(Special::Call), "syscall");
        for other in [
            &[0x90][..],
            &[0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0],
            &[0x0f, 0xae, 0xf8],
            &[0x0f, 0xae, 0xf0],
            &[0x0f, 0xae, 0x28],
            &[0x0f, 0xae],
            &[0x0f, 0xae, 0x3c],
            &[0x66],
            &[],
        ] {
            assert_eq!(special(other), None, "{other:x?}");
        }
    }
}
