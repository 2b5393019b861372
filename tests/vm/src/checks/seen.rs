//! What `isobar top` and `isobar doctor` show for a machine of several nodes. A program's memory
//! must be shown where Linux has it, and the program where Linux runs it, both live and from a
//! recording.

use crate::evidence;
use crate::isobar::{json, run};
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;

const PAGES: u64 = 8000;
/// The node of the memory, and a CPU of another node.
const HOME: usize = 2;
const CPU: u32 = 0;
const FILE: &str = "/tmp/seen.isobar";

pub fn checks(suite: &mut Suite) {
    suite.check("seen: top shows memory on the node that has it, far from where the program runs", live);
    suite.check("seen: a recording shows the same, and doctor looks at four nodes", recorded);
}

/// A subject that is busy on a CPU of node 0, with its memory on another node.
fn far() -> Result<Subject> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("far", "anon", PAGES, u32::try_from(HOME)?)?;
    alpha.ask(&format!("touched far 0 {}", PAGES - 1))?;
    for tid in evidence::threads(alpha.pid())? {
        let bound = std::process::Command::new("taskset").args(["-p", "1", &tid.to_string()]).output()?;
        ensure!(bound.status.success(), "taskset: {}", String::from_utf8_lossy(&bound.stderr));
    }
    Ok(alpha)
}

fn live() -> Result<()> {
    let mut alpha = far()?;
    let seen = json(&["top", "--once", "--json", "--only", "alpha", "--interval", "2"])?;
    agrees(&seen, &mut alpha)
}

fn recorded() -> Result<()> {
    let mut alpha = far()?;
    let _ = fs::remove_file(FILE);
    run(&["record", "-o", FILE, "--for", "4", "--interval", "1", "--only", "alpha"])?.fine()?;
    agrees(&json(&["top", "--machine", FILE, "--once", "--json"])?, &mut alpha)?;
    run(&["report", FILE, "-o", "/tmp/seen.html", "--force"])?.fine()?;
    let said = run(&["doctor", "--json", "--for", "2"])?;
    let code = said.status.code().context("doctor was killed")?;
    ensure!([0, 3, 4].contains(&code), "doctor: {code}: {}", said.err);
    Ok(())
}

/// What is shown about the subject must be what the kernel reports.
fn agrees(seen: &Value, alpha: &mut Subject) -> Result<()> {
    same(
        "nodes",
        seen["nodes"].as_array().map(Vec::len),
        Some(evidence::numbered("/sys/devices/system/node", "node")?.len()),
    )?;
    let programs = seen["programs"].as_array().context("no programs")?;
    let shown = programs.iter().find(|one| one["pid"] == alpha.pid()).context("the subject is not shown")?;
    let there = alpha.nodes_of("far")?;
    same("pages of the region", there.get(&u32::try_from(HOME)?).copied(), Some(PAGES))?;
    let pages = shown["pages"][HOME].as_u64().context("no pages by node")?;
    ensure!((PAGES..PAGES + 500).contains(&pages), "{pages} pages are shown on node {HOME}, {PAGES} are there");
    let runs = shown["runs_on"][0].as_f64().context("no node where it runs")?;
    ensure!(runs > 0.99, "it is bound to CPU {CPU}, and shown to run there for {runs}");
    let remote = shown["remote"].as_f64().context("no share of remote pages")?;
    ensure!(remote > 0.9, "{remote} of its pages are shown as remote");
    Ok(())
}
