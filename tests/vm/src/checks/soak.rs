//! The short form of the soak test (`tests/soak`) on a machine of several nodes: `manage` is ended
//! in many ways while processes come and go, and nothing may be left that is not reported.

use crate::suite::Suite;
use crate::watch::LIMIT;
use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Number of ends, unless the kernel's command line sets another (`isobar.soak=300` for the long
/// form).
const ENDS: &str = "12";
/// The exit status of the soak test if isobar was seldom at work and nothing was left.
const PROVES_LITTLE: i32 = 3;
/// The file with all its output, which is copied out of the guest.
const LOG: &str = "/results/soak.log";

/// Maximum mean duration of one end, as in `tests/vm/run.sh`.
const EACH: Duration = Duration::from_secs(10);

pub fn checks(suite: &mut Suite) {
    let ends = env::var("soak").ok().filter(|ends| !ends.is_empty()).unwrap_or_else(|| ENDS.to_owned());
    let limit = LIMIT + EACH * ends.parse().unwrap_or(0);
    let name = "soak: ends of all kinds while processes come and go: nothing is left that is not reported";
    suite.check_within(limit, name, || run(&ends));
}

fn run(ends: &str) -> Result<()> {
    // Emulation is slow: what takes half a minute on a machine may take two here.
    let output = Command::new("isobar-soak")
        .args(["--ends", ends, "--limit", "90", "--wait", "40"])
        .output()
        .context("isobar-soak")?;
    let text = [output.stdout, output.stderr].concat();
    fs::write(LOG, &text)?;
    let text = String::from_utf8_lossy(&text);
    text.lines().for_each(|line| println!("     {line}"));
    // This is the only check that depends on the host's clock: if the host is busy with other
    // things, isobar has too little time to bind threads that come and go. If something is left
    // behind, the check fails in any case.
    if output.status.code() == Some(PROVES_LITTLE) {
        println!("     SKIPPED: this machine was too slow for isobar to bind threads before most ends");
        return Ok(());
    }
    ensure!(output.status.success(), "isobar-soak: {}: see above, or soak.log", output.status);
    Ok(())
}
