use super::*;
use crate::laws::row::Verdict;
use crate::laws::test_kit::{self, spec};
use numasim_guest::counters::{Counters, Cpu};

/// A window in which the first CPU counted these events.
fn window(label: &str, instructions: u64, llc_misses: u64) -> String {
    let cpu = Cpu { instructions, llc_misses, ..Cpu::default() };
    test_kit::window(label, Counters { cpus: vec![cpu], ..Counters::default() })
}

fn judged(text: &str, judge: fn(&Spec, &Places, &Readings) -> Vec<Row>) -> Vec<Verdict> {
    let spec = spec();
    let rows = judge(&spec, &Places::of(&spec).unwrap(), &Readings::parse(text));
    rows.iter().map(|row| row.verdict).collect()
}

/// 1000 instructions per ms alone; `near` and `far` instructions beside another program.
fn paces(near: u64, far: u64) -> String {
    [window("lonely", 1000, 0), window("near", near, 0), window("far", far, 0)].concat()
}

#[test]
fn who_shares_a_cache_must_be_slowed_and_who_does_not_must_not() {
    assert_eq!(judged(&paces(500, 990), sharing), [Verdict::Holds; 2]);
    assert_eq!(judged(&paces(950, 990), sharing), [Verdict::Fails, Verdict::Holds]);
    assert_eq!(judged(&paces(500, 900), sharing), [Verdict::Holds, Verdict::Fails]);
    assert_eq!(judged(&paces(0, 990), sharing), [Verdict::Fails, Verdict::Holds], "it stood still");
    assert_eq!(judged("", sharing), [Verdict::Fails; 2]);
}

/// Misses of 100 loads in the three cases: 70 % of the LLC with all ways, the same with half of
/// them, and 30 % with half.
fn cycles(misses: [u64; 3]) -> String {
    let one = |(name, misses): (&str, u64)| format!("{}@line {name} {{\"work\":100}}\n", window(name, 0, misses));
    ["large_all", "large_half", "small_half"].into_iter().zip(misses).map(one).collect()
}

#[test]
fn half_the_ways_must_miss_what_all_hold() {
    assert_eq!(judged(&cycles([1, 99, 1]), ways), [Verdict::Holds; 3]);
    assert_eq!(judged(&cycles([50, 99, 1]), ways), [Verdict::Fails, Verdict::Holds, Verdict::Holds]);
    assert_eq!(judged(&cycles([1, 1, 1]), ways), [Verdict::Holds, Verdict::Fails, Verdict::Holds]);
    assert_eq!(judged(&cycles([1, 99, 99]), ways), [Verdict::Holds, Verdict::Holds, Verdict::Fails]);
    assert_eq!(judged("", ways), [Verdict::Fails; 3]);
}
