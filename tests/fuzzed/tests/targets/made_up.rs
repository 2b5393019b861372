//! Targets that fail on some inputs, so that it is known that the runner sees it and says on which.

use isobar_fuzzed::runner;
use isobar_fuzzed::table::{Body, Target};
use libtest_mimic::Trial;
use std::hint::black_box;
use std::time::Duration;

/// Each fails on the input of this text and on no seed that comes before it.
const BAD: &[u8] = b"bad \xff";
const GOOD: &[u8] = b"a good one";

/// The targets, each failing in another way.
pub const TARGETS: [Target; 6] = [
    Target::new("made_up_good", 500, Body::Bytes(|input| assert!(input.len() <= isobar_fuzzed::mutate::LONGEST))),
    Target::new("made_up_panic", 0, Body::Bytes(|input| assert!(!input.contains(&0xff), "a byte too many"))),
    Target::new("made_up_mutated", 5000, Body::Bytes(|input| assert!(!input.starts_with(b"a goood"), "three"))),
    Target {
        limit: Duration::from_millis(200),
        ..Target::new(
            "made_up_slow",
            0,
            Body::Bytes(|input| {
                while is_bad(input) {
                    black_box(input);
                }
            }),
        )
    },
    Target::new(
        "made_up_memory",
        0,
        Body::Bytes(|input| drop(black_box(vec![1_u8; if is_bad(input) { 2 << 30 } else { 1 }]))),
    ),
    Target::new("made_up_stack", 0, Body::Bytes(|input| assert_eq!(deep(input, u64::from(is_bad(input))), 0))),
];

fn is_bad(input: &[u8]) -> bool {
    black_box(input).contains(&0xff)
}

/// Calls itself until the stack ends, if `by` is not 0.
fn deep(input: &[u8], by: u64) -> u64 {
    if by == 0 { 0 } else { black_box(deep(black_box(input), by)) + 1 }
}

/// What the report on each must contain: the message, and the input in hex.
const SEEN: [(&str, &str, &str); 5] = [
    ("made_up_panic", "a byte too many", "62616420ff"),
    ("made_up_mutated", "three", "6120676f6f6f64"),
    ("made_up_slow", "took more than 200ms", "62616420ff"),
    ("made_up_memory", "memory allocation of 2147483648 bytes failed", "62616420ff"),
    ("made_up_stack", "overflowed its stack", "62616420ff"),
];

/// One test for each.
pub fn trials() -> impl Iterator<Item = Trial> {
    let trial = |target: &'static Target| Trial::test(target.name, move || Ok(check(target)?));
    TARGETS.iter().map(trial)
}

fn check(target: &Target) -> Result<(), String> {
    let seeds = tempfile::tempdir().unwrap();
    std::fs::write(seeds.path().join("1"), GOOD).unwrap();
    let seen = SEEN.iter().find(|(name, ..)| *name == target.name);
    if target.runs == 0 {
        std::fs::write(seeds.path().join("2"), BAD).unwrap();
    }
    match (runner::judge(target, seeds.path()), seen) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(_)) => Err("it did not fail".to_owned()),
        (Err(report), None) => Err(report),
        (Err(report), Some((name, how, hex))) => {
            let again = format!("-- --exact {name}");
            let expected = [how, &*format!("ISOBAR_FUZZED_INPUT={hex}"), &*again];
            let missing: Vec<_> = expected.into_iter().filter(|part| !report.contains(part)).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?} is not in this report:\n{report}")) }
        }
    }
}
