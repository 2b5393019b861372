//! Checks that the row `linux (observed)` of a traced run matches where the kernel had placed the
//! pages. A subject is really traced, by emulation within the emulated guest. It allocates pages on
//! each node by touching them from that node; later the kernel moves some of them. `numa_maps`
//! gives the correct answer, from outside.

use crate::evidence;
use crate::isobar::json;
use crate::setting::Setting;
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

const FILE: &str = "/tmp/observed.trace";

/// Number of pages touched from each node. The numbers differ by more than the number of other
/// pages of the program.
const BY_NODE: [u64; 4] = [128, 256, 384, 512];
const PAGES: u64 = 1280;

/// Number of CPUs per node in the guest.
const CPUS: usize = 2;

/// How often the report is repeated while a slice may still be missing from the file.
const PATIENCE: u32 = 50;

pub fn checks(suite: &mut Suite) {
    suite.check("observed: the row of a traced program is where the kernel has its pages, and follows them", follows);
}

fn follows() -> Result<()> {
    // Emulation does not pass a request for small pages on to the kernel.
    let _small = Setting::small_pages()?;
    let _random = Setting::random_addresses()?;
    let mut command = Command::new("isobar");
    command.args(["trace", "--slice", "100", "-o", FILE, "--", "subject"]);
    let mut traced = Subject::start_under(&mut command)?;
    let emulator = evidence::child_of(traced.pid())?;
    let grid = traced.ask(&format!("reserve grid {PAGES}"))?;
    let mut first = 0;
    for (node, pages) in BY_NODE.into_iter().enumerate() {
        traced.ask(&format!("pin {}", node * CPUS))?;
        traced.ask(&format!("fill grid {first} {}", first + pages - 1))?;
        first += pages;
    }
    by_kernel(emulator, &grid, BY_NODE)?;
    row_while_it_runs(BY_NODE)?;

    let mut mover = Subject::start("mover")?;
    mover.ask(&format!("migrate {emulator} 1 3"))?;
    let moved = [BY_NODE[0], 0, BY_NODE[2], BY_NODE[1] + BY_NODE[3]];
    by_kernel(emulator, &grid, moved)?;
    traced.quit()?;
    row(&report()?, moved)
}

/// Checks that each node has its part of the grid, plus at most all of the other pages.
fn parts(who: &str, found: &[u64], wanted: [u64; 4], others: u64) -> Result<()> {
    ensure!(others < BY_NODE[0], "{who}: {others} pages beside the grid: too many to distinguish nodes");
    let fits = found.iter().zip(wanted).all(|(found, wanted)| (wanted..=wanted + others).contains(found));
    ensure!(
        fits && found.len() == wanted.len(),
        "{who}: pages by node are {found:?}; the grid alone is {wanted:?}, and there are {others} others"
    );
    Ok(())
}

/// Checks the kernel's count for the mapping that contains the grid. Emulation does not change the
/// program's addresses.
fn by_kernel(pid: u32, grid: &str, wanted: [u64; 4]) -> Result<()> {
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let grid = hex(grid).with_context(|| grid.to_owned())?;
    let text = evidence::text(format!("/proc/{pid}/numa_maps"))?;
    let starts = |line: &&str| line.split(' ').next().and_then(hex).is_some_and(|start| start <= grid);
    let line = text.lines().rev().find(starts).context("no mapping of the grid")?;
    let count = |node: usize| {
        let found = line.split(' ').find_map(|word| word.strip_prefix(&format!("N{node}=")));
        found.and_then(|count| count.parse().ok()).unwrap_or(0)
    };
    let found: Vec<u64> = (0..BY_NODE.len()).map(count).collect();
    let others = found.iter().sum::<u64>().checked_sub(PAGES).with_context(|| format!("pages are missing: {line}"))?;
    parts("the kernel", &found, wanted, others)
}

fn report() -> Result<Value> {
    json(&["pages", FILE, "--nodes", "4", "--json"])
}

/// Checks the row while the file is being written. Each slice says where its new pages are, and the
/// last slice may still be missing. The number of pages does not show whether it is: pages of the
/// program beside the grid count too.
fn row_while_it_runs(wanted: [u64; 4]) -> Result<()> {
    for _ in 0..PATIENCE {
        let said = report()?;
        if row(&said, wanted).is_ok() {
            return Ok(());
        }
        let pages = said["linux"]["node_pages"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        let fits = pages.clone().zip(wanted).all(|(found, wanted)| found < wanted + BY_NODE[0]);
        ensure!(fits, "pages are on a wrong node: {:?}; the grid alone is {wanted:?}", pages.collect::<Vec<_>>());
        sleep(Duration::from_millis(100));
    }
    row(&report()?, wanted).context("of the running program")
}

/// Checks the row, which covers the grid and the program's few other pages.
fn row(said: &Value, wanted: [u64; 4]) -> Result<()> {
    let linux = &said["linux"];
    ensure!(linux.is_object(), "no row: {}", said["linux_missing"]);
    same("nodes of the machine", linux["machine_nodes"].as_u64(), Some(4))?;
    let others = said["pages"].as_u64().and_then(|pages| pages.checked_sub(PAGES)).context("no pages")?;
    let found = linux["node_pages"].as_array().context("no nodes")?.iter().filter_map(Value::as_u64);
    parts("the row", &found.collect::<Vec<_>>(), wanted, others)
}
