//! The text of the state file, which decides what `isobar restore` does to threads as root.
//! Accepted text is printed and read back as the same ledger, and the ledger stays readable after
//! changes.

use crate::check::accepted;
use isobar_linux::actuators::entries::{Entry, Original};
use isobar_linux::actuators::ledger::{Ledger, VERSION};
use isobar_linux::actuators::state_file::parse;
use isobar_model::{CpuId, CpuSet, NodeId, Pages, Pid, Tid};
use std::path::Path;

/// Checks one input.
pub fn run(text: &str) {
    let Some(mut ledger) = accepted(parse(Path::new("state.json"), text)) else { return };
    assert_eq!(ledger.version, VERSION);
    check_round_trip(&ledger);
    check_moves(&mut ledger);
    check_round_trip(&ledger);
}

fn check_round_trip(ledger: &Ledger) {
    let printed = serde_json::to_string(ledger).unwrap_or_else(|error| panic!("{error}"));
    let again = parse(Path::new("state.json"), &printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    assert_eq!(&again, ledger, "the printed ledger is another");
}

/// Moves a known thread and a new thread, and then everything is forgotten.
fn check_moves(ledger: &mut Ledger) {
    let one: CpuSet = [CpuId(1)].into_iter().collect();
    let some: CpuSet = [CpuId(1), CpuId(3)].into_iter().collect();
    let pids: Vec<(Pid, u64)> = ledger.processes.iter().map(|(pid, process)| (*pid, process.start)).collect();
    for (pid, pid_start) in pids.into_iter().chain([(Pid(7), 70)]) {
        let original = Original { cpus: one.clone(), ..Original::default() };
        let (tid, cpu, mask) = (Tid(pid.0), CpuId(1), if pid.0 % 2 == 0 { one.clone() } else { some.clone() });
        let entry = Entry { pid, pid_start, tid, tid_start: 3, original, placed: None, cpu, mask };
        ledger.intend(&entry, 9);
        ledger.done(&entry, &entry.mask);
        let thread = ledger.thread(pid, entry.tid, 3);
        assert!(thread.is_some_and(|thread| thread.is_ours(&entry.mask)), "a move that was done is not known");
        ledger.undone(&entry);
        ledger.forget(pid, entry.tid);
        assert!(ledger.thread(pid, entry.tid, 3).is_none(), "a thread that was forgotten is known");
        if let Some(parent) = ledger.process(pid, pid_start).cloned() {
            // An id that the kernel could give. Other ids are refused when they are read.
            ledger.adopt(Pid(pid.0 % 1000 + 1), 11, &parent);
        }
    }
    ledger.add_pages(NodeId(0), NodeId(1), Pages(u64::MAX));
    let _ = ledger.is_empty();
}
