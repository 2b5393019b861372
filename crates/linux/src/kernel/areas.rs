//! Reads the mappings of a process and what each of them is: `/proc/PID/maps` (`proc_pid_maps(5)`),
//! and which mappings are stacks of threads, which the kernel does not say.
//!
//! A thread's stack is the anonymous mapping that its stack pointer lies in
//! (`/proc/PID/task/TID/syscall`, which the kernel fills in for a thread that sleeps). For threads
//! that run, the candidates are the other anonymous mappings with a guard directly below. They are
//! given to the running threads in order, from the highest address down, as the C library makes
//! them. If the numbers of such mappings and threads differ, the running threads get none.

use super::identity;
use super::map_line::{MapLine, in_order};
use isobar_model::{Pid, Tid};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// Part of the address space of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// What it is.
    pub what: MappingKind,
}

/// What a mapping is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MappingKind {
    /// The memory that `brk` gives.
    Heap,
    /// The stack of a thread, by its position in the list of threads.
    Stack(u32),
    /// A file, by its path, and where in it the mapping begins.
    File {
        /// its path
        path: String,
        /// bytes
        offset: u64,
    },
    /// Memory without a file.
    Anonymous,
    /// Address space without any access right, such as the guard below a stack.
    Reserved,
}

/// Larger reservations are not guards of stacks.
const LARGEST_GUARD: u64 = 1 << 20;

/// Number of times that a stack pointer is looked for: a thread that runs now may sleep next time.
const LOOKS: usize = 5;

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// The mappings of a process. `threads` are in the order in which they began.
///
/// # Errors
/// The kernel's error for reading `maps`; not found if the process has ended.
pub fn of(pid: Pid, threads: &[Tid]) -> io::Result<Vec<Area>> {
    let text = identity::read_live(&PathBuf::from(format!("/proc/{pid}/maps")))?;
    let text = text.filter(|text| !text.is_empty()).ok_or(io::ErrorKind::NotFound)?;
    let pointers: Vec<Option<u64>> = threads.iter().map(|tid| stack_pointer(pid, *tid)).collect();
    let limit = fs::read_to_string(format!("/proc/{pid}/limits")).ok().and_then(|text| stack_limit(&text));
    Ok(with_stacks(parse(&text), &pointers, limit))
}

fn stack_pointer(pid: Pid, tid: Tid) -> Option<u64> {
    (0..LOOKS).find_map(|look| {
        if look > 0 {
            sleep(PAUSE);
        }
        parse_syscall(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?)
    })
}

/// The stack pointer, which is the last word but one; `None` for a thread that runs.
fn parse_syscall(text: &str) -> Option<u64> {
    let word = text.split_ascii_whitespace().rev().nth(1)?;
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok().filter(|pointer| *pointer > 0)
}

/// The soft limit of the stack: the size that the C library gives a thread that asks for no other.
fn stack_limit(limits: &str) -> Option<u64> {
    let row = limits.lines().find_map(|line| line.strip_prefix("Max stack size"))?;
    row.split_ascii_whitespace().next()?.parse().ok()
}

/// Reads `maps`; ascending, as the kernel writes it. Lines that are not mappings, and mappings of
/// the kernel's own, are left out.
#[must_use]
pub fn parse(text: &[u8]) -> Vec<Area> {
    in_order(&String::from_utf8_lossy(text)).filter_map(area).collect()
}

/// The part of the address space that a line describes; `None` if it is the kernel's own.
fn area(line: MapLine<'_>) -> Option<Area> {
    let path = |name: &str| name.trim_end_matches(" (deleted)").replace("\\012", "\n");
    let what = match line.name {
        "[heap]" => MappingKind::Heap,
        "[stack]" => MappingKind::Stack(0),
        _ if line.is_reserved() => MappingKind::Reserved,
        _ if line.is_kernels() => return None,
        _ if line.is_anonymous() => MappingKind::Anonymous,
        name => MappingKind::File { path: path(name), offset: line.offset },
    };
    Some(Area { start: line.start, end: line.end, what })
}

/// Finds the stacks of all threads except the first, whose stack the kernel names.
fn with_stacks(mut areas: Vec<Area>, pointers: &[Option<u64>], limit: Option<u64>) -> Vec<Area> {
    let mut stacks: Vec<Option<usize>> = pointers.iter().map(|pointer| holds(&areas, (*pointer)?)).collect();
    let guarded = |at: &usize| {
        let below = at.checked_sub(1).and_then(|below| areas.get(below));
        let guard = |below: &Area| {
            let reserved = below.what == MappingKind::Reserved && below.end - below.start <= LARGEST_GUARD;
            reserved
                && areas.get(*at).is_some_and(|area| area.start == below.end && area.what == MappingKind::Anonymous)
        };
        below.is_some_and(guard)
    };
    let free = (0..areas.len()).rev().filter(|at| !stacks.contains(&Some(*at))).filter(guarded).collect::<Vec<_>>();
    let without: Vec<usize> = (1..stacks.len()).filter(|thread| stacks[*thread].is_none()).collect();
    if free.len() == without.len() {
        without.iter().zip(free).for_each(|(thread, at)| stacks[*thread] = Some(at));
    }
    let mut more = Vec::new();
    for (thread, at) in (0..).zip(stacks).skip(1) {
        let Some(area) = at.and_then(|at| areas.get_mut(at)) else { continue };
        // Memory with the same access rights directly above a stack shows as one mapping with it.
        let end = limit.map_or(area.end, |limit| area.end.min(area.start.saturating_add(limit)));
        if end < area.end {
            more.push(Area { start: end, end: area.end, what: MappingKind::Anonymous });
        }
        (area.end, area.what) = (end, MappingKind::Stack(thread));
    }
    areas.extend(more);
    areas.sort_unstable_by_key(|area| area.start);
    areas
}

/// The anonymous mapping that an address lies in.
fn holds(areas: &[Area], address: u64) -> Option<usize> {
    let holds = |area: &Area| area.what == MappingKind::Anonymous && area.start <= address && address < area.end;
    areas.iter().position(holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAPS: &str = "\
00400000-00401000 r--p 00001000 08:01 131   /usr/bin/some name (deleted)
00401000-00405000 rw-p 00000000 00:00 0 
00500000-00600000 rw-p 00000000 00:00 0     [heap]
7f0000000000-7f0000001000 ---p 00000000 00:00 0
7f0000001000-7f0000005000 rw-p 00000000 00:00 0
7f0000005000-7f0000006000 ---p 00000000 00:00 0
7f0000006000-7f000000c000 rw-p 00000000 00:00 0 
7f0000010000-7f0000020000 rw-p 00000000 00:00 0     [anon: arena]
7ffff7fc1000-7ffff7fc5000 r--p 00000000 00:00 0     [vvar]
7ffff7fc5000-7ffff7fc7000 r-xp 00000000 00:00 0     [vdso]
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0     [stack]
";

    fn whats(areas: &[Area]) -> Vec<&MappingKind> {
        areas.iter().map(|area| &area.what).collect()
    }

    #[test]
    fn every_mapping_is_what_the_kernel_says() {
        let areas = parse(MAPS.as_bytes());
        let file = MappingKind::File { path: "/usr/bin/some name".into(), offset: 0x1000 };
        use MappingKind::{Anonymous, Heap, Reserved, Stack};
        let expected = [file, Anonymous, Heap, Reserved, Anonymous, Reserved, Anonymous, Anonymous, Stack(0)];
        assert_eq!(whats(&areas), expected.iter().collect::<Vec<_>>());
        assert_eq!((areas[0].start, areas[0].end), (0x40_0000, 0x40_1000));
    }

    #[test]
    fn stacks_are_found_by_their_pointers_or_by_their_guards() {
        let areas = parse(MAPS.as_bytes());
        // T2 sleeps; T1 runs, and gets the other mapping with a guard. A stack is 4 pages.
        let found = with_stacks(areas.clone(), &[None, None, Some(0x7f00_0000_2000)], Some(0x4000));
        let stack = |number: u32| {
            found.iter().find(|area| area.what == MappingKind::Stack(number)).map(|area| (area.start, area.end))
        };
        assert_eq!(stack(2), Some((0x7f00_0000_1000, 0x7f00_0000_5000)));
        assert_eq!(stack(1), Some((0x7f00_0000_6000, 0x7f00_0000_a000)));
        let rest = found.iter().find(|area| area.start == 0x7f00_0000_a000).unwrap();
        assert_eq!((rest.end, &rest.what), (0x7f00_0000_c000, &MappingKind::Anonymous), "what lies above is no stack");
        // Without any stack pointer, mappings are given from the top down.
        let found = with_stacks(areas.clone(), &[None; 3], None);
        let starts: Vec<u64> = (1..3)
            .map(|number| found.iter().find(|area| area.what == MappingKind::Stack(number)).unwrap().start)
            .collect();
        assert_eq!(starts, [0x7f00_0000_6000, 0x7f00_0000_1000]);
        // Three threads and two guards: which guard belongs to which thread is not known.
        let found = with_stacks(areas, &[None; 4], None);
        assert!(found.iter().all(|area| !matches!(area.what, MappingKind::Stack(1..))));
    }

    #[test]
    fn pointers_and_limits_are_read() {
        assert_eq!(parse_syscall("202 0x7 0x80 0x0 0x0 0x0 0x0 0x7f0000002000 0x7f1\n"), Some(0x7f00_0000_2000));
        assert_eq!((parse_syscall("running\n"), parse_syscall("-1 0x0 0x1\n")), (None, None));
        let limits = "Max cpu time  unlimited unlimited seconds\nMax stack \
                      size            8388608              unlimited            bytes\n";
        assert_eq!(stack_limit(limits), Some(8 << 20));
        assert_eq!(stack_limit("Max stack size  unlimited unlimited bytes"), None);
    }

    #[test]
    fn our_own_stack_and_heap_of_code_are_there() {
        let areas = of(identity::own_pid(), &identity::threads(identity::own_pid())).unwrap();
        let here = std::ptr::from_ref(&areas).addr() as u64;
        let mine = areas.iter().find(|area| area.start <= here && here < area.end).unwrap();
        assert!(matches!(mine.what, MappingKind::Stack(_) | MappingKind::Anonymous), "{mine:?}");
        let exe = std::env::current_exe().unwrap();
        let of_us =
            |area: &Area| matches!(&area.what, MappingKind::File { path, .. } if *path == exe.to_string_lossy());
        assert!(areas.iter().any(of_us));
    }

    proptest! {
        #[test]
        fn any_text_is_read_in_order(text in prop::collection::vec(any::<u8>(), 0..300),
                                     lines in prop::collection::vec("[0-9a-f]{1,9}-[0-9a-f]{1,9} [r-]--p \
                                                                     [0-9a-z]{1,3} 0:0 [01] [a-z/\\[]{0,8}", 0..8)) {
            let _ = parse(&text);
            let areas = parse(lines.join("\n").as_bytes());
            prop_assert!(areas.is_sorted_by(|one, next| one.end <= next.start));
        }
    }
}
