//! `isobar.protect` on a workload where it matters: in `server-batch`, a batch job loses for the
//! benefit of the server, unless the job is protected.

use crate::support::isobar;

const SERVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/stress/server-batch.toml");

/// Gain of a program over linux, in per cent: the number in the last brackets of its line.
fn gain(name: &str, protect: &str) -> f64 {
    let set = format!("isobar.protect=[{protect}]");
    let rest = ["--policy", "linux,isobar", "--schedules", "sampled", "--seed", "2", "--set", &set];
    let said = isobar(&[&["sim", SERVERS], &rest[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let line = said.out.lines().find(|line| line.starts_with(name)).unwrap();
    let last = line.rsplit('(').next().unwrap();
    last.trim_end_matches([' ', '%', ')']).trim().parse().unwrap()
}

/// Without protection, `gobmk.2` loses 4.9 % to the others.
#[test]
fn a_protected_program_does_not_pay_for_others() {
    let (before, after) = (gain("gobmk.2", ""), gain("gobmk.2", "\"gobmk\""));
    assert!(before < -3.0 && after > -1.0, "{before} {after}");
}
