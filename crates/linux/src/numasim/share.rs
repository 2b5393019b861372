//! Counts of CPUs become counts of threads. Pure.
//!
//! **Problem.** The plugin sees CPUs and no threads; policies need counts by thread.
//!
//! **Approach.** A thread is taken to have run on the CPU that it was last seen on, for the CPU time that it used since the last sample.
//! Of what that CPU counted it gets the share that its time has of the CPU's busy time (of the threads' time, where that is more: it
//! has come from another CPU).
//!
//! ```text
//! whole = max(busy time of the CPU, sum of the times of its threads)
//! thread's count = floor(CPU's count * thread's time / whole)
//! ```
//!
//! *Properties*: what threads get never exceeds what their CPU counted; what is left was the kernel's, isobar's own, or of threads that
//! have ended or moved, and is nobody's. *What is lost*: two threads that share a CPU in an interval look alike per unit of time, and a
//! thread that moved in it has all its time counted where it is now.

use numasim_page::CpuFigures;
use std::collections::BTreeMap;

/// Where a thread ran, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// the CPU that it was last seen on
    pub cpu: Option<usize>,
    /// CPU time since the last sample, in nanoseconds
    pub time_ns: u64,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// instructions executed
    pub instructions: u64,
    /// cycles, stalls included
    pub cycles: u64,
    /// references to the last-level cache
    pub llc_references: u64,
    /// misses of the last-level cache
    pub llc_misses: u64,
    /// bytes to and from memory
    pub bytes: u64,
}

impl Figures {
    /// Each figure of both together.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            instructions: self.instructions.saturating_add(other.instructions),
            cycles: self.cycles.saturating_add(other.cycles),
            llc_references: self.llc_references.saturating_add(other.llc_references),
            llc_misses: self.llc_misses.saturating_add(other.llc_misses),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// What each thread did, by what the CPUs counted in the interval; a thread on no CPU of them did nothing.
#[must_use]
pub fn share(cpus: &[CpuFigures], threads: &[Ran]) -> Vec<Figures> {
    let mut used = BTreeMap::<usize, u64>::new();
    for (cpu, ran) in threads.iter().filter_map(|ran| Some((ran.cpu?, ran))) {
        let sum = used.entry(cpu).or_default();
        *sum = sum.saturating_add(ran.time_ns);
    }
    let of = |ran: &Ran| {
        let cpu = ran.cpu?;
        let counted = cpus.get(cpu)?;
        let whole = used.get(&cpu).copied().unwrap_or(0).max(counted.busy_ps / 1000);
        Some(part(counted, ran.time_ns, whole))
    };
    threads.iter().map(|ran| of(ran).unwrap_or_default()).collect()
}

fn part(counted: &CpuFigures, time: u64, whole: u64) -> Figures {
    let part = |count: u64| {
        let part = (u128::from(count) * u128::from(time)).checked_div(u128::from(whole)).unwrap_or(0);
        u64::try_from(part).unwrap_or(count)
    };
    Figures {
        instructions: part(counted.instructions),
        cycles: part(counted.cycles),
        llc_references: part(counted.llc_references),
        llc_misses: part(counted.llc_misses),
        bytes: part(counted.bytes_read.saturating_add(counted.bytes_written)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(instructions: u64, misses: u64, busy_ns: u64) -> CpuFigures {
        CpuFigures {
            instructions,
            cycles: 2 * instructions,
            llc_references: 3 * misses,
            llc_misses: misses,
            bytes_read: 64 * misses,
            bytes_written: 32 * misses,
            busy_ps: busy_ns * 1000,
            ..CpuFigures::default()
        }
    }

    const fn ran(cpu: usize, time_ns: u64) -> Ran {
        Ran { cpu: Some(cpu), time_ns }
    }

    #[test]
    fn time_on_a_cpu_is_a_share_of_its_counts() {
        // CPU 0 was busy for 1000 ns: 600 and 300 of two threads, 100 of the kernel. CPU 1 had one thread all the time.
        let cpus = [counted(5000, 50, 1000), counted(7000, 10, 800)];
        let shares = share(&cpus, &[ran(0, 600), ran(0, 300), ran(1, 800)]);
        assert_eq!(shares.iter().map(|share| share.instructions).collect::<Vec<_>>(), [3000, 1500, 7000]);
        assert_eq!(
            shares[0],
            Figures { instructions: 3000, cycles: 6000, llc_references: 90, llc_misses: 30, bytes: 30 * 96 }
        );
        assert_eq!(shares[1].llc_misses, 15, "and 5 are nobody's");
    }

    #[test]
    fn who_came_from_another_cpu_takes_no_more_than_there_is() {
        // 900 ns of which 500 were spent elsewhere: on this CPU there were 400 busy.
        let shares = share(&[counted(1000, 10, 400)], &[ran(0, 900)]);
        assert_eq!(shares[0].instructions, 1000);
        let shares = share(&[counted(1000, 10, 400)], &[ran(0, 900), ran(0, 100)]);
        assert_eq!((shares[0].instructions, shares[1].instructions), (900, 100));
    }

    #[test]
    fn nobody_gets_anything_for_no_time_or_no_cpu() {
        let nowhere = Ran { cpu: None, time_ns: 100 };
        let shares = share(&[counted(1000, 10, 0)], &[ran(0, 0), nowhere, ran(7, 100)]);
        assert_eq!(shares, [Figures::default(); 3]);
    }

    proptest! {
        #[test]
        fn no_cpu_gives_more_than_it_counted_and_more_time_gets_no_less(
            counts in prop::collection::vec((any::<u64>(), 0u64..1 << 50, 0u64..1 << 40), 1..5),
            threads in prop::collection::vec((prop::option::of(0usize..6), 0u64..1 << 41), 0..20),
        ) {
            let cpus: Vec<_> = counts.iter().map(|(instructions, misses, busy)| CpuFigures {
                instructions: *instructions,
                ..counted(0, *misses, *busy)
            }).collect();
            let threads: Vec<_> = threads.into_iter().map(|(cpu, time_ns)| Ran { cpu, time_ns }).collect();
            let shares = share(&cpus, &threads);
            for (cpu, counted) in cpus.iter().enumerate() {
                let here: Vec<_> =
                    threads.iter().zip(&shares).filter(|(ran, _)| ran.cpu == Some(cpu)).collect();
                let sum = |of: fn(&Figures) -> u64| here.iter().map(|(_, share)| u128::from(of(share))).sum::<u128>();
                prop_assert!(sum(|share| share.instructions) <= u128::from(counted.instructions));
                prop_assert!(sum(|share| share.llc_misses) <= u128::from(counted.llc_misses));
                prop_assert!(sum(|share| share.bytes) <= u128::from(counted.bytes_read + counted.bytes_written));
                for (long, more) in &here {
                    let mut shorter = here.iter().filter(|(ran, _)| ran.time_ns <= long.time_ns);
                    let in_order = shorter.all(|(_, less)| less.instructions <= more.instructions);
                    prop_assert!(in_order);
                }
            }
        }
    }
}
