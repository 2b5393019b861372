//! The conformance suite of the `Machine` interface on this kernel. The same assertions hold for
//! the simulated machine.

use crate::suite::Suite;
use anyhow::{Context, Result, ensure};
use std::process::Command;

pub fn checks(suite: &mut Suite) {
    suite.check("conformance: Linux passes what the simulated machine passes", run);
}

fn run() -> Result<()> {
    let output = Command::new("conformance-linux")
        .args(["--test-threads", "1", "--color", "never"])
        .env("ISOBAR_REQUIRE_NODES", "4")
        // Cache ways have their own checks here (`resctrl`), because a double inside the tested
        // process is too slow under emulation.
        .env("ISOBAR_RESCTRL_ROOT", "/none")
        .env("RUST_BACKTRACE", "0")
        .output()
        .context("conformance-linux")?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter(|line| line.starts_with("test ")).for_each(|line| println!("     {line}"));
    ensure!(output.status.success(), "{}{}", text, String::from_utf8_lossy(&output.stderr));
    let passed = text.lines().filter(|line| line.starts_with("test ") && line.ends_with("ok")).count();
    ensure!(passed > 10, "only {passed} assertions passed");
    Ok(())
}
