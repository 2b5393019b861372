//! K pages around a sample (DINO, section 4.1) must move, and no others. The sample is a page fault
//! that the subject takes at a page of its choice, on the page's node. It reaches isobar through a
//! perf event with the address.

use crate::isobar::Manage;
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result};
use rustix::process::Signal;

pub fn checks(suite: &mut Suite) {
    suite.check("sampled: K pages around the sample move and no others", around);
    suite.check("sampled: at the edge of a mapping only the pages on one side move", edge);
}

const PAGES: u64 = 4000;

fn around() -> Result<()> {
    // K = 600: 300 pages before the sampled one, the sampled page, and 299 after it.
    moved(2000, 600, (1700, 2299))
}

fn edge() -> Result<()> {
    // The guard regions around it are on other nodes, and none of their pages may move.
    moved(10, 601, (0, 310))
}

/// Takes samples at `page` with K = `k`; exactly the pages of `expected` must move from node 1 to
/// node 3.
fn moved(page: u64, k: u64, expected: (u64, u64)) -> Result<()> {
    let mut alpha = Subject::start("alpha")?;
    alpha.alloc("a", "shared", PAGES, 1)?;
    alpha.alloc("b", "anon", 700, 2)?;
    alpha.ask(&format!("sampled a {page}"))?;
    let k = format!("fixed.pages_per_epoch={k}");
    let settings = ["manage.counters=software", "fixed.pages=alpha=1>3", "fixed.around_samples=true", &k];
    let mut manage = Manage::fixed(&["alpha"], &settings)?;
    // When its turn comes, a page may be unmapped, waiting for its next fault. Then a later epoch
    // moves it.
    let count = expected.1 - expected.0 + 1;
    manage.until(&format!("{count} pages moved"), || {
        Ok(alpha.nodes_of("a")?.get(&3).is_some_and(|moved| *moved >= count))
    })?;
    // The pages around the sample have moved, so more samples of the same page move nothing more.
    manage.epochs(4)?;
    manage.end_by(Signal::TERM)?.fine()?;
    let there: Vec<_> = alpha.runs_of("a")?.into_iter().filter(|(_, _, node)| *node == 3).collect();
    same("runs of pages on node 3", there, vec![(expected.0, expected.1, 3)])?;
    let others: u64 = alpha.nodes_of("a")?.get(&1).copied().context("none stayed")?;
    same("pages that stayed", others, PAGES - count)?;
    same("pages of the region beside it", alpha.nodes_of("b")?.into_iter().collect::<Vec<_>>(), vec![(2, 700)])?;
    alpha.verify("a")
}
