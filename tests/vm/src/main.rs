//! The suite that runs inside the guest. Each check has a name, asks isobar for something, and then
//! asks Linux whether it happened (procfs, sysfs, `move_pages` queries of the subjects). The suite
//! shares no code with isobar except the writer of traces, and asserts no time, because this is
//! emulation.
//!
//! `suite MACHINE [PART,...]` runs the checks whose names contain one of the parts. The verdict (0
//! or 1) goes to `/results/verdict`, the report to the standard output.

#![forbid(unsafe_code)]

mod checks;
mod daemon;
mod evidence;
mod fixture;
mod isobar;
mod setting;
mod subject;
mod suite;
mod talk;
mod watch;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let machine = words.next().unwrap_or_else(|| "regular".to_owned());
    let mut suite = suite::Suite::new(&words.next().unwrap_or_default());
    match machine.as_str() {
        "regular" => checks::regular(&mut suite),
        "ends" => checks::ends(&mut suite),
        "conformance" => checks::conformance_alone(&mut suite),
        "awkward" => checks::awkward(&mut suite),
        "arm-one" => checks::arm_one(&mut suite),
        "arm-cycles" => checks::arm_cycles(&mut suite),
        "arm-four" => checks::arm_four(&mut suite),
        "arm-conformance" => checks::conformance_alone(&mut suite),
        "arm-bare" => checks::arm_bare(&mut suite),
        other => suite.check("the machine is known", || anyhow::bail!("no machine `{other}`")),
    }
    suite.verdict()
}
