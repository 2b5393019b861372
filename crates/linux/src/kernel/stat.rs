//! Parses `/proc/PID/stat` and `/proc/PID/task/TID/stat` (`proc_pid_stat(5)`) without allocation,
//! because such a line is read for every thread at every sample. This file knows the positions of
//! the fields, but not what they are used for.

use isobar_model::{CpuId, Pid};

/// The kernel's `PF_KTHREAD` in the flags field (`include/linux/sched.h`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process or thread by the fields that isobar uses. The numbers in the comments are those of
/// `proc_pid_stat(5)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// (1) thread or process id.
    pub id: u32,
    /// (3) state: `R` running, `S` sleeping, `Z` zombie, ...
    pub state: u8,
    /// (4) parent process: the one that created it, or the one that it was given to.
    pub parent: Pid,
    /// (9) whether the flags mark it as one of the kernel's own threads, which isobar never
    /// touches.
    pub kernel: bool,
    /// (14) + (15) user and system time in clock ticks; in a process's own file, of all threads,
    /// ended ones too.
    pub ticks: u64,
    /// (14) user time alone.
    pub user_ticks: u64,
    /// (20) threads of the process.
    pub threads: u64,
    /// (22) start time in clock ticks since boot.
    pub start: u64,
    /// (39) CPU last run on; kernels before 2.2.8 have none.
    pub cpu: Option<CpuId>,
}

impl Stat {
    /// Whether it has ended and only waits to be reaped.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// Reads one stat line, and the name (2) in it without the parentheses. The name may hold any
/// bytes, parentheses and newlines included, so it ends at the *last* parenthesis. `None` if the
/// line is not a stat line.
#[must_use]
pub fn parse(line: &[u8]) -> Option<(Stat, &[u8])> {
    let open = line.iter().position(|&b| b == b'(')?;
    let close = line.iter().rposition(|&b| b == b')').filter(|&close| close > open)?;
    let id = narrow(number(line[..open].trim_ascii())?)?;
    // Walks over the fields once, from the third on.
    let mut fields = line[close + 1..].split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let mut next = 3;
    let mut field = |place: usize| fields.nth(place - std::mem::replace(&mut next, place + 1));
    let state = *field(3)?.first()?;
    let parent = Pid(narrow(number(field(4)?)?)?);
    let kernel = number(field(9)?)? & KERNEL_THREAD != 0;
    let user_ticks = number(field(14)?)?;
    let ticks = user_ticks.checked_add(number(field(15)?)?)?;
    let threads = number(field(20)?)?;
    let start = number(field(22)?)?;
    let cpu = field(39).and_then(number).and_then(narrow).map(CpuId);
    Some((Stat { id, state, parent, kernel, ticks, user_ticks, threads, start, cpu }, &line[open + 1..close]))
}

/// Decimal digits as a number; `None` for anything else, and if it overflows.
#[must_use]
pub fn number(digits: &[u8]) -> Option<u64> {
    let push = |value: u64, digit: &u8| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, push) }
}

fn narrow(value: u64) -> Option<u32> {
    u32::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(id: u32, name: &[u8], flags: u64, ticks: (u64, u64), start: u64, cpu: u32) -> Vec<u8> {
        let mut line = format!("{id} (").into_bytes();
        line.extend_from_slice(name);
        let (user, system) = ticks;
        let rest = format!(
            ") S 1 7 7 0 -1 {flags} 99 0 0 0 {user} {system} 0 0 20 0 3 0 {start} 3133440 388 18446744073709551615 \
             1 1 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0 0 0 1 2 3 4 5 6 7 0\n"
        );
        line.extend_from_slice(rest.as_bytes());
        line
    }

    #[test]
    fn fields_are_where_the_manual_says() {
        let line = line(42, b"cat", 4_194_304, (130, 12), 238_852, 5);
        let (stat, name) = parse(&line).unwrap();
        let expected = Stat {
            id: 42,
            state: b'S',
            parent: Pid(1),
            kernel: false,
            ticks: 142,
            user_ticks: 130,
            threads: 3,
            start: 238_852,
            cpu: Some(CpuId(5)),
        };
        assert_eq!(stat, expected);
        assert!(name == b"cat" && !stat.kernel && !stat.has_ended());
    }

    #[test]
    fn names_may_hold_anything() {
        for name in [&b") S 1 (x"[..], b"a) R 1\n2", b"", b"(((", b"\xff\xfe \x00", b") "] {
            let line = line(7, name, 0, (1, 2), 9, 3);
            let (stat, found) = parse(&line).unwrap();
            assert_eq!((found, stat.start, stat.cpu), (name, 9, Some(CpuId(3))));
        }
    }

    #[test]
    fn kernel_threads_are_known_by_flag_alone() {
        let is_kernel = |line: &[u8]| parse(line).unwrap().0.kernel;
        assert!(is_kernel(&line(99, b"kworker", KERNEL_THREAD | 0x40, (0, 0), 1, 0)));
        // In a pid namespace an ordinary process has the id 2, and makes others.
        assert!(!is_kernel(&line(2, b"sh", 0, (0, 0), 1, 0)));
        assert!(!is_kernel(b"9 (sh) S 2 7 7 0 -1 64 99 0 0 0 1 1 0 0 20 0 3 0 5"));
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        let whole = line(42, b"cat", 0, (1, 1), 5, 5);
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"42 )cat("), None);
        assert_eq!(parse(&whole[..30]), None);
        assert_eq!(parse(b"42 (a) S 1 7 7 0 -1 -4 99 0 0 0 1 1 0 0 20 0 3 0 5"), None);
    }

    proptest! {
        #[test]
        fn any_name_and_numbers_are_read_back(name in prop::collection::vec(any::<u8>(), 0..40), id in any::<u32>(),
                                              user in 0..u64::MAX / 2, start in any::<u64>(), cpu in any::<u32>()) {
            let line = line(id, &name, 0, (user, 3), start, cpu);
            let (stat, found) = parse(&line).unwrap();
            prop_assert_eq!((stat.id, found, stat.ticks), (id, &name[..], user + 3));
            prop_assert_eq!((stat.start, stat.cpu), (start, Some(CpuId(cpu))));
        }

    }
}
