//! Samples of memory accesses as `perf script` prints them, one line per sample:
//!
//! ```text
//! perf mem record -- CMD
//! perf script -F tid,time,event,addr
//!
//!   1204  5161.392801: cpu/mem-loads,ldlat=30/P:     7f0c5c0010c8
//!   1205  5161.392977:        cpu/mem-stores/P:      7ffd0a3b1e40
//! ```
//!
//! The line may also have the name of the command in front, `pid/tid`, a CPU in brackets, and more
//! fields after the address. Samples of events other than memory accesses, and samples without an
//! address, are left out. Counts are counts of samples.

use super::error::{ImportError, header, shown};
use crate::profile::sum::Sum;
use crate::profile::{PageProfile, Structure};
use crate::trace::{MOST_THREADS, Rows};
use isobar_model::num;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};

/// Bytes of a page; perf gives addresses.
const PAGE_BYTES: u64 = 4096;
/// Maximum length of a line in bytes.
const MOST_LINE: u64 = 1 << 16;
/// Parts of the names of events that sample accesses to memory, on Intel, AMD and Arm.
const EVENTS: [&str; 9] = [
    "mem-loads",
    "mem-stores",
    "mem_trans_retired",
    "mem_uops_retired",
    "mem_inst_retired",
    "ibs_op",
    "arm_spe",
    "memory",
    "l1d-",
];

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    tid: u32,
    address: u64,
}

/// Whether a text begins with a line of such samples.
#[must_use]
pub fn looks_like(first: &[u8]) -> bool {
    let lines = first.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with(b"#"));
    line.and_then(|line| std::str::from_utf8(line).ok()).is_some_and(|line| sample(line).is_ok())
}

/// Reads samples, line by line.
///
/// # Errors
/// A line that is not a sample; a file without samples; more counts than are allowed.
pub fn read(mut from: impl BufRead) -> Result<PageProfile, ImportError> {
    let (mut sums, mut threads) = (Sum::new(), BTreeMap::new());
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        if (&mut from).take(MOST_LINE).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        let at_line = |problem: String| ImportError::Line { line, problem };
        let Some(sample) = parse(&text).map_err(at_line)? else { continue };
        let next = num::narrow(threads.len());
        let thread = *threads.entry(sample.tid).or_insert(next);
        if thread >= MOST_THREADS {
            return Err(at_line(format!(
                "belongs to one thread too many; at most {MOST_THREADS} threads are supported"
            )));
        }
        let counted = sums.touch(sample.address / PAGE_BYTES, thread).and_then(|_| sums.row(thread, 1, 0));
        counted.map_err(|problem| at_line(problem.to_owned()))?;
    }
    if threads.is_empty() {
        return Err(ImportError::Unknown("has no sample of a memory access with an address"));
    }
    profile(sums, &threads)
}

fn profile(sums: Sum, threads: &BTreeMap<u32, u32>) -> Result<PageProfile, ImportError> {
    let usage = sums.usage(PAGE_BYTES)?;
    let structures = vec![Structure { name: "unknown".to_owned(), line: None, region: None }];
    let structure_of = vec![0; usage.pages().len()];
    let mut names = vec![String::new(); threads.len()];
    threads.iter().for_each(|(tid, number)| names[num::index(*number)] = format!("T{number} (tid {tid})"));
    // The text does not say how many accesses a sample stands for.
    let header = header("perf script", PAGE_BYTES, Some(1));
    Ok(PageProfile { header, usage, structures, structure_of, threads: names, linux: None, end: None })
}

/// The sample of a line; `None` if the line has no sample that counts.
fn parse(line: &[u8]) -> Result<Option<Sample>, String> {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"#") {
        return Ok(None);
    }
    let text = std::str::from_utf8(line).map_err(|_| format!("`{}` is not text", shown(line)))?;
    sample(text).map_err(|problem| format!("`{}` {problem}", shown(line)))
}

/// The last word before the time is the tid, or a CPU in brackets after the tid. The event and the
/// address follow the time.
fn sample(line: &str) -> Result<Option<Sample>, &'static str> {
    const EXPECTED: &str = "is not a sample; expected what `perf script -F tid,time,event,addr` prints";
    let mut words = line.split_ascii_whitespace();
    let (mut tid, mut timed) = (None, false);
    for word in words.by_ref() {
        if word.strip_suffix(':').is_some_and(is_time) {
            timed = true;
            break;
        }
        if !word.starts_with('[') {
            tid = word.rsplit('/').next().and_then(|tid| tid.parse().ok());
        }
    }
    let (true, Some(tid)) = (timed, tid) else { return Err(EXPECTED) };
    // A sampling period may stand before the event.
    let event = words.by_ref().find(|word| word.parse::<u64>().is_err()).ok_or(EXPECTED)?;
    let Some(event) = event.strip_suffix(':') else { return Err(EXPECTED) };
    if !EVENTS.iter().any(|known| event.to_ascii_lowercase().contains(known)) {
        return Ok(None);
    }
    let address = words.next().ok_or("has no address; record with `perf mem record` or `perf record -d`")?;
    let digits = address.strip_prefix("0x").unwrap_or(address);
    let address = u64::from_str_radix(digits, 16).map_err(|_| "has no address after its event")?;
    Ok((address != 0).then_some(Sample { tid, address }))
}

/// Seconds with a fraction.
fn is_time(word: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once('.').is_some_and(|(whole, fraction)| digits(whole) && digits(fraction))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Page;

    #[test]
    fn samples_of_three_makers_are_read_and_other_events_are_not() {
        let text = "# a comment\n\
            a.out  1204  5161.392801: cpu/mem-loads,ldlat=30/P:  7f0c5c0010c8\n\
            my cmd  9/1205 [003]  5161.392977:   1 cpu/mem-stores/P:  7f0c5c001fff |OP STORE\n\
            a.out  1204  5161.393: ibs_op//:  7ffd0a3b1e40\n\
            a.out  1204  5161.394: arm_spe_0//:  0\n\
            a.out  1204  5161.395: cycles:  7ffd0a3b1e40\n\n";
        assert!(looks_like(text.as_bytes()));
        let profile = read(text.as_bytes()).unwrap();
        let pages = [Page { number: 0x7_f0c5_c001, first: 0 }, Page { number: 0x7_ffd0_a3b1, first: 0 }];
        assert_eq!(profile.usage.pages(), pages);
        assert_eq!((profile.usage.row(0), profile.usage.row(1)), ([1, 1].as_slice(), [1, 0].as_slice()));
        assert_eq!(profile.threads, ["T0 (tid 1204)", "T1 (tid 1205)"]);
        assert_eq!(profile.header.sampled, Some(1));
    }

    #[test]
    fn a_line_that_is_no_sample_is_named() {
        let why = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        let good = "1 1.5: mem-loads: 1000\n";
        assert!(why(&format!("{good}what is this\n")).starts_with("line 2: `what is this` is not a sample; expected"));
        assert!(why(&format!("{good}1 1.5: mem-loads:\n")).contains("has no address"));
        assert!(why("1 1.5: cycles: 1000\n").starts_with("has no sample"));
        assert!(!looks_like(b"what is this\n"));
    }
}
