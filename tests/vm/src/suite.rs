//! Runs checks by name and keeps the score. A check that fails or hangs does not stop the others.

use crate::watch::{LIMIT, Watch};
use anyhow::Result;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The score of a run.
pub struct Suite {
    only: Vec<String>,
    passed: u32,
    failed: Vec<String>,
}

impl Suite {
    /// A suite that runs only checks whose name contains one of the parts: separated by commas, `_`
    /// for a blank. If there are none, all checks run.
    pub fn new(only: &str) -> Self {
        let parts = only.split(',').filter(|part| !part.is_empty());
        Self { only: parts.map(|part| part.replace('_', " ")).collect(), passed: 0, failed: Vec::new() }
    }

    /// Runs a check.
    pub fn check(&mut self, name: &str, body: impl FnOnce() -> Result<()>) {
        self.check_within(LIMIT, name, body);
    }

    /// Runs a check that may take this long.
    pub fn check_within(&mut self, limit: Duration, name: &str, body: impl FnOnce() -> Result<()>) {
        if !self.only.is_empty() && !self.only.iter().any(|part| name.contains(part)) {
            return;
        }
        let start = Instant::now();
        let watch = Watch::over(name, limit);
        let result = body();
        drop(watch);
        let seconds = start.elapsed().as_secs();
        match result {
            Ok(()) => {
                self.passed += 1;
                println!("ok   {name} ({seconds}s)");
            }
            Err(error) => {
                self.failed.push(name.to_owned());
                println!("FAIL {name} ({seconds}s): {error:#}");
            }
        }
    }

    /// Prints the score and leaves the verdict for the guest's first process.
    pub fn verdict(self) -> ExitCode {
        let Self { passed, failed, .. } = self;
        let bad = !failed.is_empty() || passed == 0;
        println!(
            "{passed} passed, {} failed{}",
            failed.len(),
            if bad { ": ".to_owned() + &failed.join("; ") } else { String::new() }
        );
        let written = fs::write("/results/verdict", if bad { "1" } else { "0" });
        if bad || written.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Fails with both values if they differ.
#[expect(clippy::needless_pass_by_value, reason = "callers compare values that they have just made")]
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<()> {
    anyhow::ensure!(found == expected, "{what}: found {found:?}, expected {expected:?}");
    Ok(())
}
