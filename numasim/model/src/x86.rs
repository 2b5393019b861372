//! The few x86 instructions that numasim must know by their bytes: those that halt or pause a CPU,
//! read its time-stamp counter or flush a cache line, and the one by which a guest talks to
//! numasim. Encodings: Intel 64 manual, volume 2. It refuses to know any other instruction.

/// What an instruction means to numasim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// HLT: the CPU waits for an interrupt.
    Halt,
    /// PAUSE: a spinning CPU.
    Pause,
    /// RDTSC or RDTSCP.
    Counter,
    /// CLFLUSH, CLFLUSHOPT or CLWB of an address. CLWB is taken as a flush: the manual allows it to
    /// keep the line, not to flush it.
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
    /// Counted from the next instruction.
    pub relative: bool,
    /// Length of the instruction.
    pub length: u8,
}

/// What an instruction in 64-bit mode means; none for all others.
#[must_use]
pub fn special(bytes: &[u8]) -> Option<Special> {
    match bytes {
        [0xf4] => Some(Special::Halt),
        [0xf3, 0x90] => Some(Special::Pause),
        [0x0f, 0x31] | [0x0f, 0x01, 0xf9] => Some(Special::Counter),
        [0x0f, 0x1f, 0x84, 0x00, tail @ ..] => magic(tail),
        _ => flush(bytes).map(Special::Flush),
    }
}

fn magic(tail: &[u8]) -> Option<Special> {
    let displacement = u32::from_le_bytes(tail.try_into().ok()?);
    let [low, high, ..] = displacement.to_le_bytes();
    (displacement & 0xffff_0000 == MAGIC).then(|| Special::Magic(u16::from_le_bytes([low, high])))
}

/// `[66] [REX] 0F AE /7` (CLFLUSH, with 66 CLFLUSHOPT) and `66 0F AE /6` (CLWB), with a memory
/// operand. Segment overrides are not known.
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

    #[test]
    fn others_are_not() {
        assert_eq!(special(&[0xf4]), Some(Special::Halt));
        assert_eq!(special(&[0xf3, 0x90]), Some(Special::Pause));
        assert_eq!(special(&[0x0f, 0x31]), Some(Special::Counter));
        assert_eq!(special(&[0x0f, 0x01, 0xf9]), Some(Special::Counter));
        assert_eq!(special(&[0x0f, 0x1f, 0x84, 0x00, 0x01, 0x00, 0x53, 0x4e]), Some(Special::Magic(1)));
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
