use super::*;
use crate::count::Counters;
use crate::ids::{Pid, Tid};
use crate::indirect::{CpuReading, Indirect};
use crate::observation::Observation;
use crate::topology::synthetic::synthetic;
use proptest::prelude::*;
use std::sync::Arc;

fn counted(instructions: u64, misses: u64, busy_ns: u64) -> CpuTotals {
    let (cycles, llc_references, bytes) = (2 * instructions, 3 * misses, 96 * misses);
    CpuTotals { busy_ns, instructions, cycles, llc_references, llc_misses: misses, bytes }
}

const fn ran(cpu: u32, time_ns: u64) -> Ran {
    Ran { cpu: Some(CpuId(cpu)), time_ns }
}

fn shared(cpus: &[CpuTotals], threads: &[Ran]) -> Vec<CpuTotals> {
    let counted: Vec<_> = cpus.iter().copied().map(Some).collect();
    share(&counted, threads).into_iter().map(Option::unwrap).collect()
}

#[test]
fn time_on_a_cpu_is_a_share_of_its_counts() {
    // CPU 0 was busy for 1000 ns: 600 and 300 by two threads, 100 by the kernel. CPU 1 had one
    // thread all the time.
    let cpus = [counted(5000, 50, 1000), counted(7000, 10, 800)];
    let shares = shared(&cpus, &[ran(0, 600), ran(0, 300), ran(1, 800)]);
    assert_eq!(shares.iter().map(|share| share.instructions).collect::<Vec<_>>(), [3000, 1500, 7000]);
    assert_eq!(shares[0], counted(3000, 30, 600));
    assert_eq!(shares[1].llc_misses, 15, "5 of 50 belong to no thread");
}

#[test]
fn a_thread_that_came_from_another_cpu_takes_no_more_than_there_is() {
    // 900 ns, of which 500 were spent elsewhere: this CPU was busy for 400.
    assert_eq!(shared(&[counted(1000, 10, 400)], &[ran(0, 900)])[0].instructions, 1000);
    let shares = shared(&[counted(1000, 10, 400)], &[ran(0, 900), ran(0, 100)]);
    assert_eq!((shares[0].instructions, shares[1].instructions), (900, 100));
}

#[test]
fn no_time_or_no_cpu_is_no_share_and_an_unmeasured_cpu_is_not_measured() {
    let nowhere = Ran { cpu: None, ..ran(0, 100) };
    let shares = shared(&[counted(1000, 10, 0)], &[ran(0, 0), nowhere, ran(7, 100)]);
    assert_eq!(shares, [CpuTotals::default(); 3]);
    assert_eq!(share(&[None], &[ran(0, 100)]), [None]);
}

/// A process with threads 1, 2, ... with these numbers of misses and this CPU time so far.
fn sample(time: f64, threads: &[(Option<u64>, f64)], indirect: Indirect) -> Sample {
    let thread = |(tid, (misses, seconds)): (u32, &(Option<u64>, f64))| ThreadSample {
        tid: Tid(tid),
        cpu: Some(CpuId(0)),
        cpu_time: Some(Seconds(*seconds)),
        counters: Counters { llc_misses: misses.map(|misses| Count::whole(misses, misses)), ..Counters::default() },
        ..ThreadSample::default()
    };
    let threads = (1..).zip(threads).map(thread).collect();
    let process = ProcessSample { pid: Pid(1), threads, ..ProcessSample::default() };
    let machine = Arc::new(synthetic("node:1 core:2").unwrap());
    Sample { indirect, ..Sample::bare(Seconds(time), machine, vec![process]) }
}

fn between(samples: &[Sample]) -> Vec<Observation> {
    samples.windows(2).map(|pair| Observation::between(&pair[0], &pair[1])).collect()
}

/// The CPU's counters as they are read: number, instructions and busy nanoseconds.
fn reading(number: u64, instructions: u64, busy_ns: u64) -> Indirect {
    let cpus = vec![counted(instructions, 0, busy_ns)];
    Indirect { cpus: Some(CpuReading { number, cpus }), ..Indirect::default() }
}

#[test]
fn counters_of_cpus_are_differenced_once_and_only_where_they_were_published() {
    let threads = |first, second| [(None, first), (None, second)];
    let samples = [
        sample(0.0, &[(None, 1.0)], reading(1, 1_000_000, 0)),
        sample(1.0, &threads(1.6, 9.0), reading(2, 1_001_000, 1_000_000_000)),
        sample(2.0, &threads(1.6, 9.5), reading(5, 1_003_000, 2_000_000_000)),
        sample(3.0, &threads(2.0, 9.5), reading(5, 1_003_000, 2_000_000_000)),
        sample(4.0, &threads(2.5, 9.5), Indirect::default()),
        sample(5.0, &threads(3.0, 9.5), reading(9, 1_004_000, 5_000_000_000)),
        sample(6.0, &threads(3.5, 9.5), reading(10, 100, 100)),
    ];
    let counts: Vec<Vec<Option<u64>>> =
        between(&samples).iter().map(|seen| seen.threads().map(|(_, thread)| thread.instructions).collect()).collect();
    assert_eq!(counts[0], [Some(375), None], "600 ms, beside a new thread that used the whole second");
    assert_eq!(counts[1], [Some(0), Some(1000)]);
    assert_eq!(counts[2], [None, None], "nothing was published");
    assert_eq!((&counts[3], &counts[4]), (&vec![None, None], &vec![None, None]), "could not be read");
    assert_eq!(counts[5], [None, None], "the counters were zeroed");
}

/// The misses of each thread, and, if there are monitor groups, their total count, the seconds in
/// which they counted, and the seconds in which they were enabled.
type Step = (Vec<Option<u64>>, Option<(u64, u64, u64)>);

/// Bytes per second of each thread between consecutive samples.
fn rates(steps: &[Step]) -> Vec<Vec<Option<f64>>> {
    let sample = |(time, (misses, monitored)): (u32, &Step)| {
        let threads: Vec<_> = misses.iter().map(|misses| (*misses, 0.0)).collect();
        let ids = (1..).map(Tid).take(threads.len()).collect();
        let monitored = monitored.map(|(value, running, enabled)| {
            (Pid(1), Monitored { bytes: Count { value, enabled, running }, threads: ids })
        });
        let monitored = monitored.into_iter().collect();
        sample(f64::from(time), &threads, Indirect { monitored, bytes_per_miss: Some(64), ..Indirect::default() })
    };
    let samples: Vec<Sample> = (0..).zip(steps).map(sample).collect();
    let bandwidth =
        |seen: &Observation| seen.threads().map(|(_, thread)| thread.bandwidth.map(|bandwidth| bandwidth.0)).collect();
    between(&samples).iter().map(bandwidth).collect()
}

#[test]
fn misses_times_a_line_then_the_monitor_and_no_jump_between() {
    let two = |a, b| vec![Some(a), Some(b)];
    let seen = rates(&[
        (two(0, 100), None),
        (two(10, 130), None),
        // From here on monitor groups count: 9,000 bytes for 20 and 40 more misses.
        (two(30, 170), Some((9000, 1, 1))),
        (two(30, 170), Some((9005, 2, 2))),
        (two(40, 180), Some((9005, 2, 3))),
        (two(50, 180), Some((9645, 3, 4))),
        (two(60, 181), None),
    ]);
    assert_eq!(seen[0], [Some(640.0), Some(1920.0)]);
    assert_eq!(seen[1], [Some(3000.0), Some(6000.0)]);
    assert_eq!(seen[2], [Some(3.0), Some(2.0)], "equally, and nothing is lost");
    assert_eq!(seen[3], [None, None], "not measured once");
    assert_eq!(seen[4], [Some(640.0), Some(0.0)]);
    assert_eq!(seen[5], [Some(640.0), Some(64.0)]);
}

/// Groups that were made within an interval have not counted all of it.
#[test]
fn without_misses_a_group_is_shared_equally_from_its_first_whole_interval_on() {
    let unknown = |monitored| (vec![None, None], monitored);
    let seen = rates(&[unknown(None), unknown(None), unknown(Some((8, 1, 1))), unknown(Some((16, 2, 2)))]);
    assert_eq!(seen, [[None, None], [None, None], [Some(4.0), Some(4.0)]]);
}

/// A total that ran backwards belongs to another process or another set of groups.
#[test]
fn a_total_that_ran_backwards_is_not_measured() {
    assert_eq!(rates(&[(vec![Some(1)], Some((80, 4, 4))), (vec![Some(2)], Some((70, 5, 5)))]), [[None]]);
}

proptest! {
    #[test]
    fn nothing_is_lost_in_sharing(whole in any::<u64>(), weights in prop::collection::vec(0u64..1 << 50, 1..20)) {
        let shares = split(whole, &weights);
        if weights.iter().any(|weight| *weight > 0) {
            prop_assert_eq!(shares.iter().sum::<u64>(), whole);
        }
    }

    #[test]
    fn no_cpu_gives_more_than_it_counted_and_more_time_gets_no_less(
        counts in prop::collection::vec((any::<u64>(), 0u64..1 << 50, 0u64..1 << 40), 1..5),
        threads in prop::collection::vec((prop::option::of(0u32..6), 0u64..1 << 41), 0..20),
    ) {
        let counted = |(instructions, misses, busy): &(u64, u64, u64)|
            CpuTotals { instructions: *instructions, ..counted(0, *misses, *busy) };
        let cpus: Vec<_> = counts.iter().map(counted).collect();
        let ran = |(cpu, time_ns): &(Option<u32>, u64)| Ran { cpu: cpu.map(CpuId), time_ns: *time_ns };
        let threads: Vec<_> = threads.iter().map(ran).collect();
        let shares = shared(&cpus, &threads);
        for (cpu, counted) in (0..).map(CpuId).zip(&cpus) {
            let here: Vec<_> = threads.iter().zip(&shares).filter(|(ran, _)| ran.cpu == Some(cpu)).collect();
            let sum = |of: fn(&CpuTotals) -> u64| here.iter().map(|(_, share)| u128::from(of(share))).sum::<u128>();
            prop_assert!(sum(|share| share.instructions) <= u128::from(counted.instructions));
            prop_assert!(sum(|share| share.llc_misses) <= u128::from(counted.llc_misses));
            prop_assert!(sum(|share| share.bytes) <= u128::from(counted.bytes));
            for (long, more) in &here {
                let mut shorter = here.iter().filter(|(ran, _)| ran.time_ns <= long.time_ns);
                let in_order = shorter.all(|(_, less)| less.instructions <= more.instructions);
                prop_assert!(in_order);
            }
        }
    }
}
