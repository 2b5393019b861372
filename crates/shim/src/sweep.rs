//! Walks over all mappings of this process, read line by line without allocating.

use crate::policy;
use isobar_allocation::{Mapping, Mode, mapping};

/// Gives the policy to every private anonymous mapping without a policy of its owner's.
pub fn sweep(mode: Mode) {
    each_line(c"/proc/self/maps", |line| {
        if let Some(found) = mapping(line) {
            give(found, mode);
        }
    });
}

fn give(found: Mapping, mode: Mode) {
    let found_policy = policy::at(found.start);
    let has_it = found_policy.is_none_or(|found_policy| policy::is(found_policy, mode));
    if !has_it && !policy::is_the_owners(found_policy) {
        policy::set_for_mapping(found, mode);
    }
}

/// The state of the process at one look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessState {
    /// Total bytes of all its mappings. This changes when mappings come or go, unless others of the
    /// same size take their place.
    pub size: u64,
    /// Number of its threads.
    pub threads: u64,
    /// Whether its first thread has ended.
    pub leader_ended: bool,
}

/// Looks at this process; `None` if `/proc` cannot be read.
pub fn look() -> Option<ProcessState> {
    let mut found = None;
    each_line(c"/proc/self/stat", |line| found = parse(line));
    found
}

/// Parses the fields after the name, which may contain blanks and brackets.
fn parse(line: &[u8]) -> Option<ProcessState> {
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let fields = || line[end + 1..].split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    // Fields 3, 20 and 23 of proc_pid_stat(5).
    let number = |field: usize| std::str::from_utf8(fields().nth(field - 3)?).ok()?.trim_end().parse().ok();
    Some(ProcessState { size: number(23)?, threads: number(20)?, leader_ended: fields().next()? == b"Z" })
}

fn each_line(path: &std::ffi::CStr, mut take: impl FnMut(&[u8])) {
    // SAFETY: the path ends with a zero.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return;
    }
    let mut buffer = [0_u8; 4096];
    let (mut held, mut overlong) = (0, false);
    loop {
        let free = &mut buffer[held..];
        // SAFETY: the kernel writes at most as many bytes as are free.
        let got = unsafe { libc::read(file, free.as_mut_ptr().cast(), free.len()) };
        let Some(got) = usize::try_from(got).ok().filter(|got| *got > 0) else { break };
        held += got;
        let mut begin = 0;
        while let Some(length) = buffer[begin..held].iter().position(|byte| *byte == b'\n') {
            if !std::mem::take(&mut overlong) {
                take(&buffer[begin..begin + length]);
            }
            begin += length + 1;
        }
        buffer.copy_within(begin..held, 0);
        held -= begin;
        if held == buffer.len() {
            (held, overlong) = (0, true);
        }
    }
    // SAFETY: the descriptor is ours.
    unsafe { libc::close(file) };
}
