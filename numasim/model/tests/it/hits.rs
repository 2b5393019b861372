//! Compares the private cache's fast path with the full path of an access. Two machines run the
//! same loops, and one of them calls [`Core::hit`] first. Each access must take equally long on
//! both, and the counters must agree. Few instructions fit behind a miss, so that everything that
//! arrives late is waited for.
#![allow(clippy::unwrap_used)]

use numasim_model::flow::{Block, Reference};
use numasim_model::{Access, Core, CpuCounters, Machine, Spec};
use proptest::prelude::*;
use std::sync::LazyLock;

const CPUS: usize = 2;
/// Picoseconds of an instruction.
const STEP: u64 = 10_000;

/// Loops as bytes: a chase; a load and a store of the loaded value; and a load of a stored value, a
/// locked addition, and a store around the caches.
static LOOPS: LazyLock<[Block; 3]> = LazyLock::new(|| {
    let block = |code: &[&[u8]]| Block::of(code.iter().map(|bytes| (*bytes, 0)));
    [
        block(&[&[0x48, 0x8b, 0x00], &[0x75, 0xfb]]),
        block(&[&[0x48, 0x8b, 0x04, 0xce], &[0x48, 0x89, 0x04, 0x07], &[0x75, 0xf5]]),
        block(&[&[0x48, 0x8b, 0x07], &[0xf0, 0x48, 0x01, 0x07], &[0x48, 0x0f, 0xc3, 0x07]]),
    ]
});

struct Both {
    machine: Machine,
    cores: [Core; CPUS],
    now: [u64; CPUS],
    executed: [u64; CPUS],
    asks: bool,
    answered: u64,
}

impl Both {
    fn new(asks: bool) -> Self {
        let text = include_str!("../../../machines/small-2x2.toml")
            .replace("size_kib = 8\nways = 8", "size_kib = 1\nways = 4\nhit_ns = 3.0")
            .replace("misses = 10\ninstructions = 128", "misses = 3\ninstructions = 12");
        let machine = Machine::new(&Spec::parse(&text, "small").unwrap()).unwrap();
        Self { machine, cores: [0, 1].map(Core::new), now: [0; CPUS], executed: [0; CPUS], asks, answered: 0 }
    }

    fn access(&mut self, cpu: usize, reference: &Reference, access: Access) -> u64 {
        let rest = u64::from(reference.rest);
        let (now, executed) = (self.now[cpu] - rest * STEP, self.executed[cpu] - rest);
        let core = &mut self.cores[cpu];
        let asks = self.asks && !(reference.around && access.store);
        let hit = if asks { core.hit(&mut self.machine, reference, access, || now) } else { None };
        self.answered += u64::from(hit.is_some());
        hit.unwrap_or_else(|| core.access(&mut self.machine, reference, access, now, executed).stall)
    }

    /// Runs a loop once; returns when each of its accesses is done.
    fn turn(&mut self, cpu: usize, block: &'static Block, accesses: &[(u64, bool)]) -> Vec<u64> {
        let begun = self.now[cpu];
        self.now[cpu] += block.count() * STEP;
        self.executed[cpu] += block.count();
        self.now[cpu] += self.cores[cpu].begin(&mut self.machine, block, begun, self.executed[cpu]);
        let references = block.roles().iter().filter_map(|role| role.reference);
        let one = |(reference, (word, store)): (Reference, &(u64, bool))| {
            let store = *store || reference.around;
            self.now[cpu] += self.access(cpu, &reference, Access { address: word * 8, physical: word * 8, store });
            self.now[cpu]
        };
        references.zip(accesses).map(one).collect()
    }

    fn counted(&self) -> [CpuCounters; CPUS] {
        [0, 1].map(|cpu| self.machine.cpu_counters(cpu))
    }
}

/// A CPU, a loop, and the words that it accesses. They are of 48 lines, of which a private cache
/// holds 16, or one of four words, which may have been stored just before.
fn turn() -> impl Strategy<Value = (usize, usize, Vec<(u64, bool)>)> {
    let word = prop_oneof![0..384_u64, 0..4_u64];
    (0..CPUS, 0..3_usize, prop::collection::vec((word, any::<bool>()), 3))
}

proptest! {
    #[test]
    fn what_is_answered_at_once_is_what_the_whole_way_gives(turns in prop::collection::vec(turn(), 1..400)) {
        let (mut asks, mut goes) = (Both::new(true), Both::new(false));
        for (cpu, which, accesses) in &turns {
            let block = &LOOPS[*which];
            prop_assert_eq!(asks.turn(*cpu, block, accesses), goes.turn(*cpu, block, accesses));
        }
        prop_assert_eq!(asks.counted(), goes.counted());
        prop_assert!(turns.len() < 100 || asks.answered > 0);
    }
}
