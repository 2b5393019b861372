//! Kinds of memory: what can be moved moves with its content, what cannot is reported by reason,
//! and Linux agrees with the report.

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
    // A huge page moves as a whole together with its first page; the other pages are counted when
    // their turn comes.
    manage.epochs(2)?;
    let reported = manage.end_by(Signal::TERM)?.pages_moved()?;
    ensure!(reported >= pages, "isobar says that it moved {reported} pages; {pages} did");
    alpha.verify("a")
}

/// The kernel would move these pages, because `move_pages(2)` ignores memory policies.
fn bound_stay() -> Result<()> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("a", "bound", 512, 0)?;
    alpha.alloc("b", "anon", 600, 0)?;
    stay(&mut alpha, ("a", 512), ("b", 600), "kept there by their owner's memory policy")
}

/// Moving a page that other processes also map would move it for them, too. The kernel does so only
/// if asked, and isobar does not ask.
fn shared_stay() -> Result<()> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("a", "shared", 512, 0)?;
    alpha.alloc("b", "anon", 700, 0)?;
    alpha.ask("twin")?;
    // Private pages from before the fork are shared until they are written. Only pages written now
    // belong to the process alone.
    alpha.alloc("c", "anon", 600, 0)?;
    stay(&mut alpha, ("a", 512), ("c", 600), "shared with other processes")
}

/// All pages are wanted on node 2. The pages of one region stay on node 0, and isobar reports why;
/// those of the other region move.
fn stay(alpha: &mut Subject, kept: (&str, u64), moving: (&str, u64), why: &str) -> Result<()> {
    let mut manage = Manage::fixed(&["alpha"], &["fixed.pages=alpha=2"])?;
    manage.until("the others moved", || Ok(alpha.nodes_of(moving.0)? == BTreeMap::from([(2, moving.1)])))?;
    manage.epochs(4)?;
    let said = manage.end_by(Signal::TERM)?;
    same("pages that stay", alpha.nodes_of(kept.0)?, BTreeMap::from([(0, kept.1)]))?;
    let stayed = &said.summary()?["pages_stayed"];
    let reported = stayed[why].as_u64().unwrap_or(0);
    ensure!(reported >= kept.1, "{} pages stayed, {why}; isobar says {stayed}", kept.1);
    alpha.verify(kept.0)?;
    alpha.verify(moving.0)
}
