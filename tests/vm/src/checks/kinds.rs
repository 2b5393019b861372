//! Kinds of memory: what can move moves with its content, what cannot is reported by reason, and
//! Linux agrees with the report.

use crate::isobar::Manage;
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;

pub fn checks(suite: &mut Suite) {
    for kind in ["anon", "file", "shared", "locked", "thp"] {
        suite.check(&format!("kinds: {kind} pages move and keep their content"), || moves(kind, 1024));
    }
    suite.check("kinds: hugetlb pages move and keep their content", || {
        const RESERVE: &str = "/sys/devices/system/node/node%/hugepages/hugepages-2048kB/nr_hugepages";
        for node in ["0", "2"] {
            fs::write(RESERVE.replace('%', node), "4").with_context(|| RESERVE.replace('%', node))?;
        }
        let result = moves("hugetlb", 1024);
        for node in ["0", "2"] {
            fs::write(RESERVE.replace('%', node), "0")?;
        }
        result
    });
    suite.check("kinds: pages shared with another process stay, and isobar says so", shared_stay);
    suite.check("kinds: pages that their owner bound to a node stay, and isobar says so", bound_stay);
}

fn moves(kind: &str, pages: u64) -> Result<()> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("a", kind, pages, 0)?;
    let mut manage = Manage::fixed(&["alpha"], &["fixed.pages=alpha=2"])?;
    manage.until("all of it moved", || Ok(alpha.nodes_of("a")? == BTreeMap::from([(2, pages)])))?;
    // A huge page moves whole with its first page: the others are counted as their turn comes.
    manage.epochs(2)?;
    let reported = manage.end_by(Signal::TERM)?.pages_moved()?;
    ensure!(reported >= pages, "isobar says that it moved {reported} pages; {pages} did");
    alpha.verify("a")
}

/// The kernel would move them: `move_pages(2)` asks no memory policy.
fn bound_stay() -> Result<()> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("a", "bound", 512, 0)?;
    alpha.alloc("b", "anon", 600, 0)?;
    let mut manage = Manage::fixed(&["alpha"], &["fixed.pages=alpha=2"])?;
    manage.until("what no one bound moved", || Ok(alpha.nodes_of("b")? == BTreeMap::from([(2, 600)])))?;
    manage.epochs(4)?;
    let said = manage.end_by(Signal::TERM)?;
    same("pages that were bound", alpha.nodes_of("a")?, BTreeMap::from([(0, 512)]))?;
    let stayed = &said.summary()?["pages_stayed"];
    let reported = stayed["kept there by their owner's memory policy"].as_u64().unwrap_or(0);
    ensure!(reported >= 512, "512 pages stayed because their owner bound them; isobar says {stayed}");
    alpha.verify("a")
}

/// Moving a page that others map too would move it for them: the kernel does so only when asked,
/// and isobar does not ask.
fn shared_stay() -> Result<()> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("a", "shared", 512, 0)?;
    alpha.alloc("b", "anon", 700, 0)?;
    alpha.ask("twin")?;
    // Private pages of before the fork are shared until written: only what is written now is the
    // process's own.
    alpha.alloc("c", "anon", 600, 0)?;
    let mut manage = Manage::fixed(&["alpha"], &["fixed.pages=alpha=2"])?;
    manage.until("its own pages moved", || Ok(alpha.nodes_of("c")? == BTreeMap::from([(2, 600)])))?;
    manage.epochs(4)?;
    let said = manage.end_by(Signal::TERM)?;
    same("pages shared with the other process", alpha.nodes_of("a")?, BTreeMap::from([(0, 512)]))?;
    let stayed = &said.summary()?["pages_stayed"];
    let reported = stayed["shared with other processes"].as_u64().unwrap_or(0);
    ensure!(reported >= 512, "512 pages stayed because they are shared; isobar says {stayed}");
    alpha.verify("a")?;
    alpha.verify("c")
}
