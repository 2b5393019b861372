//! `numasim doctor`: shows what is here and what is missing.

use super::print;
use numasim_lab::{LabError, fetch};
use std::fmt::Write;

/// Looks for everything that an experiment needs. Returns 1 if something is missing.
pub fn run() -> Result<u8, LabError> {
    let mut text = String::new();
    let mut missing = 0;
    let mut line = |what: &str, found: Result<String, LabError>| match found {
        Ok(shown) => _ = writeln!(text, "ok       {what}: {shown}"),
        Err(error) => {
            missing += 1;
            let _ = writeln!(text, "MISSING  {error}");
        }
    };
    line("QEMU", fetch::qemu().map(|qemu| format!("{} at {}", qemu.version, qemu.binary.display())));
    line("kernel", fetch::kernel().map(|path| path.display().to_string()));
    line("numactl and numad", fetch::tools().map(|path| path.display().to_string()));
    for (name, package) in fetch::PROGRAMS {
        line(name, fetch::program(name, package).map(|path| path.display().to_string()));
    }
    print(&text);
    Ok(u8::from(missing > 0))
}
