//! Tests `isobar export`: all formats have the same figures.

use crate::support::isobar;
use std::os::unix::fs::PermissionsExt;

const WORKLOAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/dino-spec.toml");

#[test]
fn rows_columns_and_events_of_one_recording_agree() {
    let folder = tempfile::tempdir().unwrap();
    let name = |end: &str| folder.path().join(format!("run.{end}")).display().to_string();
    let (recording, machine) = (name("isobar"), format!("sim:{WORKLOAD}"));
    isobar(&["manage", "--policy", "isobar", "--machine", &machine, "--for", "20", "--record", &recording]).done();
    for format in ["csv", "parquet", "pftrace"] {
        let said = isobar(&["export", &recording, &name(format)]).done().to_owned();
        assert!(said.contains("20 epochs)"), "{said}");
        let mode = std::fs::metadata(name(format)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "names of processes are private");
    }
    // Sixteen threads in twenty epochs.
    let text = std::fs::read_to_string(name("csv")).unwrap();
    assert_eq!(text.lines().count(), 1 + 16 * 20);
    assert!(text.starts_with("epoch,seconds,pid,name,tid,cpu,llc,node,managed,cpu_seconds,instructions,"), "{text}");
    let first = text.lines().nth(1).unwrap();
    assert!(first.starts_with("1,1.0,1000,soplex,1000,") && first.contains(",true,1.0,"), "{first}");
    let parquet = std::fs::read(name("parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    let trace = std::fs::read(name("pftrace")).unwrap();
    let has = |text: &str| trace.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("node 3 controller") && has("predicted +") && has("change 1 made"));
}

#[test]
fn what_cannot_be_written_is_said_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let name = |end: &str| folder.path().join(format!("run.{end}")).display().to_string();
    let (recording, machine) = (name("isobar"), format!("sim:{WORKLOAD}"));
    isobar(&["record", "-o", &recording, "--machine", &machine, "--for", "3"]).done();
    isobar(&["export", &recording, &name("xlsx")]).refused(&["no known format", ".csv, .parquet or .pftrace"]);
    std::fs::write(name("csv"), "mine").unwrap();
    isobar(&["export", &recording, &name("csv")]).refused(&["already exists"]);
    assert_eq!(std::fs::read_to_string(name("csv")).unwrap(), "mine");
    isobar(&["export", &name("csv"), &name("parquet")]).refused(&["is not a recording of isobar"]);
}
