use super::*;
use crate::test_kit::cpus;
use isobar_model::CpuId;
use proptest::prelude::*;

/// A thread that is bound to one CPU.
fn entry(tid: u32, original: &str, placed: Option<u32>, cpu: u32) -> Entry {
    let one = |cpu| [CpuId(cpu)].into_iter().collect::<CpuSet>();
    Entry {
        pid: Pid(7),
        pid_start: 100,
        tid: Tid(tid),
        tid_start: 100 + u64::from(tid),
        original: Original { cpus: cpus(original), ..Original::default() },
        placed: placed.map(|cpu| MaskSet::one(&one(cpu))),
        cpu: CpuId(cpu),
        mask: one(cpu),
    }
}

fn moved(entries: &[Entry]) -> Ledger {
    let mut ledger = Ledger::new("boot".into());
    for entry in entries {
        ledger.intend(entry, 500);
        ledger.done(entry, &entry.mask);
    }
    ledger
}

#[test]
fn while_a_move_is_under_way_both_cpus_are_ours() {
    let mut ledger = moved(&[entry(7, "0-3", None, 1)]);
    let second = entry(7, "0-3", Some(1), 2);
    ledger.intend(&second, 600);
    let thread = |ledger: &Ledger| ledger.thread(Pid(7), Tid(7), 107).unwrap().clone();
    assert_eq!(thread(&ledger).ours.to_string(), "1-2");
    assert!(!thread(&ledger).is_ours(&cpus("1-2")), "both at once were never set");
    let mut refused = ledger.clone();
    refused.undone(&second);
    assert_eq!(thread(&refused).ours.to_string(), "1");
    ledger.done(&second, &second.mask);
    assert_eq!(thread(&ledger).ours.to_string(), "2");
    assert_eq!(thread(&ledger).original.cpus, cpus("0-3"));
    assert_eq!(ledger.processes[&Pid(7)].since, 500, "the first change counts");
}

/// A thread is bound to CPU 1 alone for a moment, then to all of 0 to 3. While the move is under
/// way, either mask may be found.
#[test]
fn a_thread_that_may_run_on_several_cpus_is_on_one_first() {
    let wide = Entry { mask: cpus("0-3"), ..entry(7, "0-7", None, 1) };
    let mut ledger = Ledger::new("boot".into());
    ledger.intend(&wide, 500);
    let thread = |ledger: &Ledger| ledger.thread(Pid(7), Tid(7), 107).unwrap().clone();
    assert_eq!(thread(&ledger).ours.to_string(), "1;0-3");
    let mut half = ledger.clone();
    half.done(&wide, &cpus("1"));
    assert_eq!(thread(&half).ours.to_string(), "1", "the kernel refused the second");
    ledger.done(&wide, &wide.mask);
    assert_eq!(thread(&ledger).ours.to_string(), ";0-3");
    assert!(thread(&ledger).is_ours(&cpus("0-3")) && !thread(&ledger).is_ours(&cpus("1")), "its owner chose CPU 1");
    let process = ledger.process(Pid(7), 100).unwrap();
    assert!(process.may_have_inherited(500, &cpus("1")), "made in that moment");
    assert!(process.may_have_inherited(500, &cpus("0-3")) && !process.may_have_inherited(500, &cpus("0-2")));
}

/// A mask of all CPUs that a thread had is no restriction: tasks made meanwhile have not lost
/// anything.
#[test]
fn what_restricts_nothing_is_not_looked_for_in_others() {
    let mut ledger = Ledger::new("boot".into());
    ledger.intend(&Entry { mask: cpus("0-7"), ..entry(7, "0-7", None, 1) }, 500);
    let process = ledger.process(Pid(7), 100).unwrap();
    assert!(process.may_have_inherited(500, &cpus("1")) && !process.may_have_inherited(500, &cpus("0-7")));
    assert!(ledger.thread(Pid(7), Tid(7), 107).unwrap().is_ours(&cpus("0-7")));
}

/// The file of a version that knew only single CPUs.
#[test]
fn older_files_are_read() {
    let text = concat!(
        r#"{"version":1,"boot_id":"boot","processes":{"7":{"start":100,"since":500,"history":"0-1","#,
        r#""original":{"cpus":"0-3","pinned":false},"threads":{"7":{"start":107,"#,
        r#""original":{"cpus":"0-3","pinned":false},"ours":"1-2"}}}},"pages":[]}"#
    );
    let ledger: Ledger = serde_json::from_str(text).unwrap();
    let thread = ledger.thread(Pid(7), Tid(7), 107).unwrap();
    assert!(thread.is_ours(&cpus("2")) && !thread.is_ours(&cpus("1-2")));
    assert_eq!(serde_json::to_string(&ledger).unwrap(), text);
}

#[test]
fn a_first_move_that_was_refused_leaves_no_thread() {
    let mut ledger = Ledger::new("boot".into());
    let first = entry(7, "0-3", None, 1);
    ledger.intend(&first, 500);
    ledger.undone(&first);
    assert!(ledger.is_empty());
}

#[test]
fn what_inherited_a_mask_is_younger_and_on_a_cpu_that_we_used() {
    let ledger = moved(&[entry(7, "0-3", None, 1), entry(8, "0-1", None, 3)]);
    let process = ledger.process(Pid(7), 100).unwrap();
    assert!(process.may_have_inherited(500, &cpus("3")));
    assert!(!process.may_have_inherited(499, &cpus("3")), "older than our change");
    assert!(!process.may_have_inherited(500, &cpus("2")), "a CPU that we never used");
    assert!(!process.may_have_inherited(500, &cpus("1,3")), "both at once were never set");
    assert_eq!(process.original.cpus, cpus("0-3"), "it gets the widest mask");
}

#[test]
fn a_mask_stays_ours_when_the_thread_that_had_it_is_put_back() {
    let mut ledger = moved(&[entry(7, "0-3", None, 1), entry(8, "0-1", None, 3)]);
    ledger.put_back(Pid(7), Tid(8));
    ledger.forget(Pid(7), Tid(7));
    let parent = ledger.process(Pid(7), 100).unwrap().clone();
    assert!(parent.gave(&cpus("3")), "what it had made until then has it from us");
    assert!(!parent.gave(&cpus("1")), "its owner changed that thread");
    ledger.adopt(Pid(9), 600, &parent);
    assert!(ledger.process(Pid(9), 600).unwrap().gave(&cpus("3")));
    assert!(ledger.is_empty());
}

#[test]
fn a_reused_pid_starts_a_new_entry() {
    let mut ledger = moved(&[entry(7, "0-3", None, 1)]);
    let other = Entry { pid_start: 900, tid_start: 900, ..entry(7, "0-1", None, 0) };
    ledger.intend(&other, 950);
    assert_eq!(ledger.process(Pid(7), 100), None);
    assert_eq!(ledger.process(Pid(7), 900).unwrap().history.to_string(), "0");
}

#[test]
fn page_totals_add_up_by_pair_of_nodes() {
    let mut ledger = Ledger::new("boot".into());
    ledger.add_pages(NodeId(0), NodeId(1), Pages(3));
    ledger.add_pages(NodeId(1), NodeId(0), Pages(5));
    ledger.add_pages(NodeId(0), NodeId(1), Pages(4));
    assert_eq!(ledger.pages.iter().map(|total| total.pages.0).collect::<Vec<_>>(), [7, 5]);
}

#[test]
fn masks_are_written_as_lists() {
    let text = serde_json::to_string(&moved(&[entry(7, "0-3,8", None, 1)])).unwrap();
    assert!(text.contains(r#""original":{"cpus":"0-3,8","pinned":false}"#), "{text}");
}

proptest! {
    #[test]
    fn ledgers_round_trip(moves in prop::collection::vec((1u32..50, 0u32..9000, prop::option::of(0u32..600)), 0..30)) {
        let entries: Vec<_> = moves.iter().map(|&(tid, cpu, placed)| entry(tid, "0-3,600", placed, cpu)).collect();
        let ledger = moved(&entries);
        let text = serde_json::to_string(&ledger).unwrap();
        prop_assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger);
    }

}
