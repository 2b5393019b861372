//! `isobar pages apply`: checks that the pages of a live process are where the mapping of a traced
//! run wants them, although its addresses differ. Linux gives the answer, through `move_pages`
//! queries of the subject and through `numa_maps` of a program that does not take part in the test.

use crate::evidence;
use crate::fixture::{PAGE, Trace};
use crate::isobar::{Manage, Said, run};
use crate::setting::Setting;
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const FILE: &str = "/tmp/fixture.trace";

/// The file that records what was moved.
const RECORD: &str = "/run/isobar/state.pages.json";

/// Pages of the subject's region.
const PAGES: u64 = 64;

pub fn checks(suite: &mut Suite) {
    suite
        .check("pages: exclusive pages go to the nodes of their threads, and --undo puts them back", locality_and_back);
    suite.check("pages: shared pages are interleaved by `mixed`, exclusive ones are not", mixed);
    suite.check("pages: a dry run moves nothing and records nothing", dry_run);
    suite.check("pages: an interrupted run says how far it came, and the next does the rest", resumed);
    suite.check("pages: `isobar restore` puts back what was moved in two runs", restored);
    suite.check("pages: pages of an owner's memory policy stay unless forced", policy_of_the_owner);
    suite.check("pages: a transparent huge page goes whole", huge);
    suite.check("pages: what a program holds in static arrays is found by its file", kernel_program);
    suite.check("pages: wrong processes, nodes and numbers of threads are refused", refusals);
}

/// Runs `isobar pages apply FILE PID` with further arguments, and one thread per node.
fn apply(pid: u32, more: &str) -> Result<Said> {
    let words = format!("pages apply {FILE} {pid} --json --threads-to-nodes 0,1,2,3 {more}");
    run(&words.split_whitespace().collect::<Vec<_>>())
}

fn document(said: &Said) -> Result<Value> {
    Ok(serde_json::from_str(&said.fine()?.out)?)
}

/// Writes a trace in which each of four threads uses a quarter of an anonymous mapping.
fn quarters(pages: u64) -> Result<()> {
    let (mut trace, start) = (Trace::of(4), 0x1234_5000);
    trace.anonymous(start, pages);
    for page in 0..pages {
        trace.exclusive(start + page * PAGE, u32::try_from(page * 4 / pages)?);
    }
    trace.write(FILE)
}

/// A subject with memory on node 0, and the trace of another run of it.
fn subject(pages: u64) -> Result<Subject> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("grid", "anon", pages, 0)?;
    quarters(pages)?;
    Ok(alpha)
}

/// The expected runs of pages: the quarters on nodes 0 to 3.
fn in_quarters(pages: u64) -> Result<Vec<(u64, u64, i32)>> {
    let quarter = pages / 4;
    (0..4).map(|node| Ok((node * quarter, (node + 1) * quarter - 1, i32::try_from(node)?))).collect()
}

fn locality_and_back() -> Result<()> {
    let mut alpha = subject(PAGES)?;
    let said = document(&apply(alpha.pid(), "--policy locality")?)?;
    same("pages by index", alpha.runs_of("grid")?, in_quarters(PAGES)?)?;
    alpha.verify("grid")?;
    same("pages that isobar says it moved", said["pages_moved"].as_u64(), Some(PAGES * 3 / 4))?;
    same("nodes afterwards", said["node_pages_after"].to_string(), "[16,16,16,16]".to_owned())?;
    let again = document(&apply(alpha.pid(), "--policy locality")?)?;
    same("pages left to move", again["pages_to_move"].as_u64(), Some(0))?;
    run(&["pages", "apply", "--undo", &alpha.pid().to_string()])?.fine()?;
    same("pages put back", alpha.runs_of("grid")?, vec![(0, PAGES - 1, 0)])?;
    alpha.verify("grid")?;
    ensure!(!Path::new(RECORD).exists(), "the record is left");
    Ok(())
}

/// Even pages belong to thread 1. Odd pages are shared by all threads and are placed by their
/// number; the region of the traced run begins at a multiple of four pages.
fn mixed() -> Result<()> {
    let mut alpha = subject(PAGES)?;
    let (mut trace, start) = (Trace::of(4), 0x4000_0000);
    trace.anonymous(start, PAGES);
    for page in 0..PAGES {
        trace.page(start + page * PAGE, if page.is_multiple_of(2) { &[1, 98, 0, 1] } else { &[5, 5, 5, 5] });
    }
    trace.write(FILE)?;
    apply(alpha.pid(), "")?.fine()?;
    // The nodes are 1 1 1 3, again and again; neighbours on the same node form a run.
    let mut wanted = vec![(0, 2, 1), (3, 3, 3)];
    for four in 1..PAGES / 4 {
        wanted.extend([(4 * four, 4 * four + 2, 1), (4 * four + 3, 4 * four + 3, 3)]);
    }
    same("pages by index", alpha.runs_of("grid")?, wanted)?;
    alpha.verify("grid")?;
    undo(alpha.pid())
}

fn undo(pid: u32) -> Result<()> {
    run(&["pages", "apply", "--undo", &pid.to_string()])?.fine().map(drop)
}

fn dry_run() -> Result<()> {
    let mut alpha = subject(PAGES)?;
    let said = document(&apply(alpha.pid(), "--policy locality --dry-run")?)?;
    same("pages that would move", said["pages_to_move"].as_u64(), Some(PAGES * 3 / 4))?;
    same("moves by node", said["planned"].as_array().map(Vec::len), Some(3))?;
    same("pages by index", alpha.runs_of("grid")?, vec![(0, PAGES - 1, 0)])?;
    ensure!(!Path::new(RECORD).exists(), "a dry run has left a record");
    Ok(())
}

fn resumed() -> Result<()> {
    const MANY: u64 = 8192;
    let mut alpha = subject(MANY)?;
    let pid = alpha.pid().to_string();
    let words = ["pages", "apply", FILE, &pid, "--json", "--policy", "locality", "--rate", "512"];
    let words = words.iter().chain(&["--threads-to-nodes", "0,1,2,3"]).map(|word| (*word).to_owned());
    let mut first = Manage::start(&words.collect::<Vec<_>>())?;
    first.until("the first batch moved", || Ok(alpha.nodes_of("grid")?.len() > 1))?;
    let said = first.end_by(Signal::INT)?;
    same("exit code", said.status.code(), Some(1))?;
    ensure!(said.err.contains("interrupted") && said.err.contains("not tried"), "{}", said.err);
    let left = said.lines()?.first().and_then(|line| line["left"].as_u64()).context("no number of pages left")?;
    ensure!(left > 0 && left < MANY * 3 / 4, "{left} pages left");
    let moved: u64 = alpha.nodes_of("grid")?.iter().filter(|(node, _)| **node > 0).map(|(_, pages)| pages).sum();
    same("pages moved before the interruption", moved, MANY * 3 / 4 - left)?;
    let rest = document(&apply(alpha.pid(), "--policy locality")?)?;
    same("pages left for the second run", rest["pages_to_move"].as_u64(), Some(left))?;
    same("pages by index", alpha.runs_of("grid")?, in_quarters(MANY)?)?;
    alpha.verify("grid")?;
    undo(alpha.pid())?;
    same("pages put back", alpha.runs_of("grid")?, vec![(0, MANY - 1, 0)])
}

fn restored() -> Result<()> {
    let mut alpha = subject(PAGES)?;
    apply(alpha.pid(), "--policy locality")?.fine()?;
    apply(alpha.pid(), "--policy remote")?.fine()?;
    ensure!(alpha.runs_of("grid")? != in_quarters(PAGES)?, "`remote` is where `locality` was");
    let said = run(&["restore"])?;
    ensure!(said.fine()?.out.contains("pages put back"), "{}", said.out);
    same("pages put back", alpha.runs_of("grid")?, vec![(0, PAGES - 1, 0)])
}

/// isobar learns a process's own memory policy from the kernel (`numa_maps`). It then names the
/// policy and moves nothing, unless forced.
fn policy_of_the_owner() -> Result<()> {
    let mut command = Command::new("isobar");
    command.args(["run", "--interleave", "0,1", "--", "subject"]);
    let mut alpha = Subject::start_under(&mut command)?;
    alpha.ask(&format!("reserve grid {PAGES}"))?;
    alpha.ask(&format!("fill grid 0 {}", PAGES - 1))?;
    let before = alpha.runs_now("grid")?;
    quarters(PAGES)?;
    let pid = evidence::child_of(alpha.pid())?;
    let said = document(&apply(pid, "--policy locality")?)?;
    ensure!(said["policies"].to_string().contains("interleave"), "no policy is named: {said}");
    same("pages by index", alpha.runs_now("grid")?, before)?;
    apply(pid, "--policy locality --force")?.fine()?;
    same("pages by index, forced", alpha.runs_now("grid")?, in_quarters(PAGES)?)?;
    undo(pid)
}

/// Most pages of the second huge page are wanted on node 2.
fn huge() -> Result<()> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("wide", "thp", 1024, 0)?;
    // The region was cut out of a mapping that is longer by a huge page, and differs from the rest
    // of that mapping in its setting for huge pages.
    let maps = fs::read_to_string(format!("/proc/{}/maps", alpha.pid()))?;
    let anonymous = maps.lines().filter(|line| line.contains(" rw-p 00000000 00:00 0 "));
    let areas: Vec<(u64, u64)> = anonymous.filter_map(area).collect();
    let wide = areas.iter().find(|(start, end)| end - start == 1024 * PAGE).context("no mapping of 1024 pages")?;
    let below = areas.iter().rev().skip_while(|one| *one != wide);
    let start = below.fold(wide.0, |start, one| if one.1 == start { one.0 } else { start });
    let above = areas.iter().skip_while(|one| *one != wide);
    let end = above.fold(wide.1, |end, one| if one.0 == end { one.1 } else { end });
    let (mut trace, traced) = (Trace::of(4), 0x7700_0000_0000_u64);
    trace.anonymous(traced - (wide.0 - start), (end - start) / PAGE);
    (0..512).for_each(|page| trace.exclusive(traced + page * PAGE, 1));
    (512..1024).for_each(|page| trace.exclusive(traced + page * PAGE, if page < 600 { 3 } else { 2 }));
    trace.write(FILE)?;
    apply(alpha.pid(), "--policy locality")?.fine()?;
    same("pages by index", alpha.runs_of("wide")?, vec![(0, 511, 1), (512, 1023, 2)])?;
    alpha.verify("wide")?;
    undo(alpha.pid())?;
    same("pages put back", alpha.runs_of("wide")?, vec![(0, 1023, 0)])
}

/// Parses `first-last` of a line of `maps`.
fn area(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

/// A program of numasim in its second pass; it ends when this value is dropped.
struct Kernel(Child);

impl Kernel {
    /// Starts it so that a thread on node 0 touches all its memory first.
    fn start() -> Result<Self> {
        let _ = fs::remove_file("/tmp/ready");
        let words = "-c 0 stencil --size-kib 1024 --threads 4 --repeat --ready-file /tmp/ready";
        let mut command = Command::new("taskset");
        let child = command.args(words.split(' ')).stdout(Stdio::null()).spawn().context("stencil")?;
        let kernel = Self(child);
        for _ in 0..600 {
            if Path::new("/tmp/ready").exists() {
                return Ok(kernel);
            }
            sleep(Duration::from_millis(50));
        }
        anyhow::bail!("stencil never got ready")
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Pages by node of the mapping that begins at an address, as `numa_maps` counts them.
fn on_nodes(pid: u32, start: u64) -> Result<Vec<u64>> {
    let text = evidence::text(format!("/proc/{pid}/numa_maps"))?;
    let line = text.lines().find(|line| line.starts_with(&format!("{start:08x} "))).context("no such mapping")?;
    let count = |node: u32| {
        let found = line.split(' ').find_map(|word| word.strip_prefix(&format!("N{node}=")));
        found.and_then(|count| count.parse().ok()).unwrap_or(0)
    };
    Ok((0..4).map(count).collect())
}

/// The resident pages of a range (`Documentation/admin-guide/mm/pagemap.rst`: bit 63).
fn resident(pid: u32, (start, end): (u64, u64)) -> Result<Vec<u64>> {
    let file = fs::File::open(format!("/proc/{pid}/pagemap"))?;
    let mut found = Vec::new();
    for address in (start..end).step_by(usize::try_from(PAGE)?) {
        let mut entry = [0; 8];
        file.read_exact_at(&mut entry, address / PAGE * 8)?;
        found.extend((u64::from_le_bytes(entry) >> 63 == 1).then_some(address));
    }
    Ok(found)
}

/// In the traced run, the program had another address and another folder. It also had one more
/// thread, the second, which only waits for signals.
fn kernel_program() -> Result<()> {
    const SHIFT: u64 = 0x5550_0000_0000;
    // A huge page used by several threads moves as a whole, but here every page is to move by
    // itself.
    let small = Setting::small_pages()?;
    let _random = Setting::random_addresses()?;
    let kernel = Kernel::start()?;
    drop(small);
    let pid = kernel.0.id();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let mut trace = Trace::of(5);
    let mut bss = None;
    let mut file_end = 0;
    for line in maps.lines() {
        let Some((start, end)) = area(line) else { continue };
        let offset = line.split_whitespace().nth(2).context("no offset")?;
        if line.ends_with("/stencil") {
            let offset = u64::from_str_radix(offset, 16)?;
            trace.file(start + SHIFT, (end - start) / PAGE, "/home/somebody/stencil", offset);
            file_end = end;
        } else if start == file_end && bss.is_none() {
            trace.anonymous(start + SHIFT, (end - start) / PAGE);
            bss = Some((start, end));
        }
    }
    let bss = bss.context("no static arrays")?;
    let pages = resident(pid, bss)?;
    ensure!(pages.len() >= 256, "1024 KiB of grids have {} pages", pages.len());
    same("none on nodes 1 to 3", &on_nodes(pid, bss.0)?[1..], &[0, 0, 0])?;
    let quarter = pages.len().div_ceil(4);
    for (at, page) in pages.iter().enumerate() {
        trace.exclusive(page + SHIFT, [0, 2, 3, 4][at / quarter]);
    }
    trace.write(FILE)?;
    let words = format!("pages apply {FILE} {pid} --policy locality --threads-to-nodes 0,0,1,2,3 --json");
    let words: Vec<&str> = words.split(' ').collect();
    run(&words)?.fine()?;
    let sizes = pages.chunks(quarter).map(|part| Ok(u64::try_from(part.len())?)).collect::<Result<Vec<_>>>()?;
    let found = on_nodes(pid, bss.0)?;
    same("a quarter on each of nodes 1 to 3", &found[1..], &sizes[1..])?;
    // The program may have touched another page meanwhile.
    ensure!(found[0] >= sizes[0] && found[0] < sizes[0] + 16, "{} pages on node 0, not {}", found[0], sizes[0]);
    undo(pid)?;
    same("none on nodes 1 to 3 again", &on_nodes(pid, bss.0)?[1..], &[0, 0, 0])
}

fn refusals() -> Result<()> {
    let alpha = subject(PAGES)?;
    let refused = |words: &str, code: i32, says: &str| -> Result<()> {
        let words = words.replace("FILE", FILE).replace("PID", &alpha.pid().to_string());
        let said = run(&words.split(' ').collect::<Vec<_>>())?;
        same(&words, said.status.code(), Some(code))?;
        ensure!(said.err.contains(says) && said.err.lines().count() == 1, "{words}: {}", said.err);
        Ok(())
    };
    refused("pages apply FILE PID", 2, "--threads-to-nodes")?;
    refused("pages apply FILE PID --threads-to-nodes 0,1,2,3 --nodes 0,7", 2, "no memory on node 7")?;
    refused("pages apply FILE PID --threads-to-nodes 0,1,2,9", 2, "node 9")?;
    refused("pages apply FILE PID --threads-to-nodes 0,0,0,0 --nodes 2", 1, "one node only")?;
    refused("pages apply FILE 2 --threads-to-nodes 0,1,2,3", 2, "of the kernel")?;
    refused("pages apply FILE 999999 --threads-to-nodes 0,1,2,3", 2, "no process")?;
    refused("pages apply --undo PID", 2, "nothing is recorded")
}
