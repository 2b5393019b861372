//! NUMA balancing: isobar reports whether it is on, and what that means for the chosen policy.

use crate::isobar;
use crate::suite::Suite;
use anyhow::{Context, Result, ensure};
use std::fs;

pub fn checks(suite: &mut Suite) {
    suite.check("balancing: on, and reported with what it means for each policy", || {
        let said = |policy| remarks("1", policy);
        let (dino, plain, linux) = (said("dino")?, said("di-plain")?, said("linux")?);
        ensure!(dino.contains("NUMA balancing is on") && dino.contains("dino moves pages"), "dino: {dino}");
        ensure!(
            plain.contains("NUMA balancing is on") && plain.contains("di-plain moves threads"),
            "di-plain: {plain}"
        );
        ensure!(linux.contains("NUMA balancing is on") && linux.contains("linux moves nothing"), "linux: {linux}");
        Ok(())
    });
    suite.check("balancing: off, and reported with what it means for each policy", || {
        let (dino, plain) = (remarks("0", "dino")?, remarks("0", "di-plain")?);
        ensure!(dino.contains("NUMA balancing is off") && dino.contains("dino alone moves"), "dino: {dino}");
        ensure!(plain.contains("NUMA balancing is off") && plain.contains("memory stays"), "di-plain: {plain}");
        Ok(())
    });
}

/// The remarks on the machine when a policy is to manage it.
fn remarks(balancing: &str, policy: &str) -> Result<String> {
    fs::write("/proc/sys/kernel/numa_balancing", balancing).context("numa_balancing")?;
    let words = format!("manage --dry-run --policy {policy} --for 0.3 --interval 0.2 --set manage.counters=software");
    Ok(isobar::run(&words.split(' ').collect::<Vec<_>>())?.fine()?.out.clone())
}
