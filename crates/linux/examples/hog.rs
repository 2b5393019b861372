//! A memory-hungry program that stops by itself. It chases pointers through a buffer in random
//! order, so that nearly every step misses the caches once the buffer is larger than they are. It
//! is for the demo and for tests on live machines.
//!
//! `hog [--mib N] [--seconds S] [--threads T]`

use std::time::{Duration, Instant};

fn main() {
    let options = Options::read(std::env::args().skip(1));
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let chasers: Vec<_> =
        (0..options.threads).map(|seed| std::thread::spawn(move || chase(options.mib, seed, until))).collect();
    let steps: u64 = chasers.into_iter().map(|chaser| chaser.join().unwrap_or(0)).sum();
    // Printing the count keeps the chase from being optimised away.
    eprintln!("hog {}: {steps} steps", std::process::id());
}

#[derive(Clone, Copy)]
struct Options {
    mib: usize,
    seconds: u64,
    threads: u64,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Self {
        let mut options = Self { mib: 64, seconds: 10, threads: 1 };
        while let Some(word) = words.next() {
            let value = words.next().and_then(|value| value.parse::<u64>().ok());
            match (word.as_str(), value) {
                ("--mib", Some(mib)) => options.mib = usize::try_from(mib.clamp(1, 4096)).unwrap_or(64),
                ("--seconds", Some(seconds)) => options.seconds = seconds.clamp(1, 600),
                ("--threads", Some(threads)) => options.threads = threads.clamp(1, 64),
                _ => {
                    eprintln!("hog: expected [--mib N] [--seconds S] [--threads T], found {word}");
                    std::process::exit(2);
                }
            }
        }
        options
    }
}

/// One cache line, so that each step touches a different line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(usize);

fn chase(mib: usize, seed: u64, until: Instant) -> u64 {
    let lines = one_cycle((mib << 20) / 64, seed);
    let (mut at, mut steps) = (0, 0);
    while Instant::now() < until {
        for _ in 0..10_000 {
            at = lines[at].0;
        }
        steps += 10_000;
    }
    steps + u64::from(at == usize::MAX)
}

/// A random permutation that is one cycle (Sattolo's algorithm).
fn one_cycle(count: usize, seed: u64) -> Vec<Line> {
    let mut lines: Vec<Line> = (0..count.max(2)).map(Line).collect();
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9E37_79B9_7F4A_7C15);
    for last in (1..lines.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let other = usize::try_from(state % u64::try_from(last).unwrap_or(1)).unwrap_or(0);
        lines.swap(last, other);
    }
    lines
}
