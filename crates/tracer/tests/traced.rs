//! Traces real programs whose accesses are known. Skipped, with the reason, if qemu-user or a C
//! compiler is not available.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::cast_precision_loss)]

use isobar_pages::trace::{Part, Reader, RegionKind};
use isobar_pages::{Homes, PageProfile, Seen};
use isobar_tracer::{Job, Traced, TracerError, engine};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct Run {
    folder: tempfile::TempDir,
    traced: Traced,
}

impl Run {
    fn file(&self) -> Vec<u8> {
        fs::read(self.folder.path().join("trace")).unwrap()
    }

    fn profile(&self) -> PageProfile {
        PageProfile::read(self.file().as_slice()).unwrap()
    }

    /// Loads and stores of a structure's pages, by page within it and thread; zeros are left out.
    fn rows(&self, structure: &str) -> Vec<(u64, u32, u64, u64)> {
        let profile = self.profile();
        let found = profile.structures.iter().find(|found| found.name == structure).expect(structure);
        let first = found.region.as_ref().unwrap().start / 4096;
        let last = (found.region.as_ref().unwrap().end - 1) / 4096;
        let mut sums = std::collections::BTreeMap::<(u64, u32), (u64, u64)>::new();
        for part in Reader::new(self.file().as_slice()).unwrap() {
            let Part::Slice(slice) = part.unwrap() else { continue };
            for row in slice.rows.iter().filter(|row| (first..=last).contains(&row.page)) {
                let sum = sums.entry((row.page - first, row.thread)).or_default();
                *sum = (sum.0 + row.loads, sum.1 + row.stores);
            }
        }
        sums.into_iter().map(|((page, thread), (loads, stores))| (page, thread, loads, stores)).collect()
    }
}

/// The program of that name, compiled, without a loader if the name ends in `-static`; `None`
/// without a compiler.
fn compiled(folder: &Path, name: &str) -> Option<PathBuf> {
    let (source, linked) = name.strip_suffix("-static").map_or((name, "-pthread"), |name| (name, "-static"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source).with_extension("c");
    let program = folder.join(name);
    // As in the paper's table, each step of the product loads and stores its element of C.
    let optimise = if name == "matrix" { "-O0" } else { "-O1" };
    let compiler =
        Command::new("cc").args([optimise, "-g", "-pthread", linked, "-o"]).arg(&program).arg(source).status();
    compiler.is_ok_and(|status| status.success()).then_some(program)
}

/// Traces a program; `None`, after printing the reason, if that is not possible here.
fn run(name: &str, words: &[&str]) -> Option<Run> {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), name) else {
        eprintln!("SKIPPED: no C compiler (cc) here");
        return None;
    };
    let more = words.iter().map(Into::into);
    let command = [program.into_os_string()].into_iter().chain(more).collect();
    let job = Job { file: folder.path().join("trace"), slice: Duration::from_millis(10), names: true, command };
    let mut tracing = match engine("qemu-user").unwrap().prepare(&job) {
        Ok(tracing) => tracing,
        Err(TracerError::Refused(refusal)) => {
            eprintln!("SKIPPED: {refusal}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let begun = Instant::now();
    let mut child = tracing.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{name} {words:?} has not ended after 60 s");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let traced = tracing.finish(status, begun.elapsed()).unwrap();
    Some(Run { folder, traced })
}

#[test]
fn counts_of_known_accesses_are_exact() {
    let Some(run) = run("exact", &[]) else { return };
    let touched = (0..16).map(|page| (page, 0, 0, 1));
    let by_threads = (1..4).flat_map(|t| {
        let thread = u32::try_from(t).unwrap();
        [(4 * t, thread, 1000 + t, 0), (4 * t + 1, thread, 0, 100 + t)]
    });
    let mut expected: Vec<_> = touched.chain(by_threads).collect();
    expected.sort_unstable();
    assert_eq!(run.rows("data"), expected);
    assert_eq!((run.traced.threads, run.traced.end.status), (4, Some(0)));
}

#[test]
fn first_touches_are_in_their_order_and_stacks_are_found() {
    let Some(run) = run("exact", &[]) else { return };
    let profile = run.profile();
    let of = |name: &str| {
        let at = profile.structures.iter().position(|found| found.name == name).expect(name);
        let at = u32::try_from(at).unwrap();
        profile.usage.pages().iter().zip(&profile.structure_of).filter(move |(_, of)| **of == at).map(|(page, _)| *page)
    };
    let pages: Vec<u64> = of("data").map(|page| page.number).collect();
    assert!(pages.len() == 16 && pages.is_sorted_by(|a, b| a > b), "the last first: {pages:?}");
    assert!(of("data").all(|page| page.first == 0));
    for thread in 0..4 {
        assert!(of(&format!("stack of T{thread}")).count() > 0);
    }
    assert!(of("libc.so.6").count() > 10 && profile.structures.iter().any(|found| found.name == "heap"));
}

/// Such a program loads from its stack before it stores anything anywhere.
#[test]
fn the_stack_of_a_program_without_a_loader_is_found_and_is_not_its_variables() {
    let Some(run) = run("exact-static", &[]) else { return };
    let parts = Reader::new(run.file().as_slice()).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    let regions = |wanted: &dyn Fn(&RegionKind) -> bool| -> Vec<(u64, u64)> {
        let regions = parts.iter().filter_map(|part| if let Part::Region(region) = part { Some(region) } else { None });
        regions.filter(|region| wanted(&region.kind)).map(|region| (region.start, region.end)).collect()
    };
    let stack = regions(&|kind| *kind == RegionKind::Stack(0));
    let data = regions(&|kind| matches!(kind, RegionKind::Named { name, .. } if name == "data"));
    assert_eq!((stack.len(), data.len()), (1, 1), "{stack:?} {data:?}");
    assert!(stack[0].1 <= data[0].0 || data[0].1 <= stack[0].0, "{stack:?} covers {data:?}");
}

/// Every page of the array was stored to, so the kernel has each of them on a node. A page that was
/// given back before the end is known from its slice.
#[test]
fn the_trace_says_where_the_kernel_had_the_pages() {
    let Some(run) = run("exact", &[]) else { return };
    let (profile, missing) = (run.profile(), run.traced.end.missing.join(" "));
    let Some(linux) = &profile.linux else {
        assert!(missing.contains("move_pages"), "neither pages nor a reason: {missing}");
        eprintln!("SKIPPED: {missing}");
        return;
    };
    let at = profile.structures.iter().position(|found| found.name == "data").unwrap();
    let known = profile.structure_of.iter().zip(&linux.node_of).filter(|(of, _)| **of as usize == at);
    let nodes: Vec<_> = known.map(|(_, node)| node.expect("a page that was stored to")).collect();
    assert!(nodes.len() == 16 && nodes.iter().all(|node| u32::from(*node) < linux.nodes), "{nodes:?}");
}

#[test]
fn each_of_many_threads_counts_once() {
    let Some(run) = run("exact", &["threads", "200"]) else { return };
    let expected: Vec<_> = (1..=200).map(|thread| (0, thread, 0, 1)).collect();
    assert_eq!(run.rows("data"), expected);
}

#[test]
fn slices_are_closed_while_a_thread_sleeps() {
    let Some(run) = run("exact", &["slices"]) else { return };
    let stored = |page: u64, thread: u32| {
        let first = run.profile().structures.iter().find(|found| found.name == "data").unwrap().region.clone().unwrap();
        let page = first.start / 4096 + page;
        let parts = Reader::new(run.file().as_slice()).unwrap().map(Result::unwrap).collect::<Vec<_>>();
        let slices =
            parts.into_iter().filter_map(|part| if let Part::Slice(slice) = part { Some(slice) } else { None });
        let here = |row: &&isobar_pages::trace::Row| (row.page, row.thread) == (page, thread);
        slices.filter(|slice| slice.rows.iter().any(|row| here(&row))).map(|slice| slice.number).collect::<Vec<_>>()
    };
    let (busy, asleep) = (stored(0, 0), stored(1, 1));
    assert!(busy.len() >= 3, "60 ms in slices of 10 ms: {busy:?}");
    assert_eq!(asleep.len(), 1);
    assert!(asleep[0] < *busy.last().unwrap(), "it slept on when its slice was written: {asleep:?}, {busy:?}");
}

#[test]
fn a_child_is_named_as_missing_and_does_not_count() {
    let Some(run) = run("exact", &["fork"]) else { return };
    assert_eq!(run.rows("data"), [(1, 0, 0, 6)]);
    let [missing] = run.traced.end.missing.as_slice() else { panic!("{:?}", run.traced.end.missing) };
    assert!(missing.ends_with("which the program forked, was not followed"), "{missing}");
}

#[test]
fn a_crash_leaves_what_was_before_it() {
    let Some(run) = run("exact", &["crash"]) else { return };
    assert_eq!((run.rows("data"), run.traced.end.status), (vec![(0, 0, 0, 3)], None));
}

/// Table 1 of the paper.
#[test]
fn a_matrix_product_shows_what_the_paper_shows() {
    let Some(run) = run("matrix", &[]) else { return };
    assert_eq!(run.traced.end.status, Some(0));
    let profile = run.profile();
    let homes = Homes::compact(4, profile.usage.threads()).unwrap();
    let seen = Seen::new(&profile.usage, &homes).unwrap();
    // For a structure: pages, all accesses, the fraction from the thread with the most accesses to
    // each page, and whether the first thread touched all pages first.
    let of = |name: &str| {
        let at = profile.structures.iter().position(|found| found.name == name).expect(name);
        let mine = |(_, of): &(usize, &u32)| **of as usize == at;
        let pages: Vec<usize> = profile.structure_of.iter().enumerate().filter(mine).map(|(at, _)| at).collect();
        let sum =
            |field: fn(&isobar_pages::PageSeen) -> u64| pages.iter().map(|at| field(&seen.pages()[*at])).sum::<u64>();
        let (accesses, most) = (sum(|page| page.accesses), sum(|page| page.most));
        let first = pages.iter().all(|at| profile.usage.pages()[*at].first == 0);
        (pages.len(), accesses, most as f64 / accesses as f64, first)
    };
    for name in ["A", "C"] {
        let (pages, _, exclusive, first) = of(name);
        assert!((16..=17).contains(&pages) && exclusive > 0.9 && first, "{name}: {pages} pages, {exclusive}");
    }
    let (pages, _, exclusive, first) = of("B");
    assert!((16..=17).contains(&pages) && exclusive < 0.4 && first, "B: {pages} pages, {exclusive}");
    for thread in 1..4 {
        let (_, _, exclusive, first) = of(&format!("stack of T{thread}"));
        assert!(exclusive > 0.9 && first, "stack of T{thread}: {exclusive}, first touched by T0: {first}");
    }
}

#[test]
fn large_allocations_have_the_names_of_the_code_that_made_them() {
    let Some(run) = run("allocates", &[]) else { return };
    assert_eq!(run.traced.end.status, Some(0), "the program's environment is its own");
    let profile = run.profile();
    let of = |name: &str| {
        let at = profile.structures.iter().position(|found| found.name == name).expect(name);
        let pages = profile.structure_of.iter().filter(|of| **of as usize == at).count();
        (pages, profile.structures[at].line.as_deref())
    };
    // The last page of what malloc maps holds 16 bytes, and is not touched.
    assert_eq!(of("by_malloc:12"), (64, Some("allocates.c:12")));
    assert_eq!(of("by_calloc_and_realloc:17"), (128, Some("allocates.c:17")));
    assert_eq!(of("by_mmap:21"), (64, Some("allocates.c:21")));
    assert!(of("heap").0 >= 8, "small ones have no names");
    assert!(profile.structures.iter().all(|found| !found.name.contains("0x")));
}

#[test]
fn variables_have_the_lines_of_their_definitions() {
    let Some(run) = run("exact", &[]) else { return };
    let profile = run.profile();
    let data = profile.structures.iter().find(|found| found.name == "data").unwrap();
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/exact.c")).unwrap();
    let line = source.lines().position(|line| line.starts_with("char data[")).unwrap() + 1;
    assert_eq!(data.line, Some(format!("exact.c:{line}")));
}
