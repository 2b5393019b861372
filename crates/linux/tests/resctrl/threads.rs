//! Processes of several threads: each thread goes back to the group that it was in.

use crate::live::helper::{Helper, orders};
use crate::support::{Stage, alone, group_of, two_llcs};
use isobar_model::{Action, LlcId, Machine as _, Tid};
use std::fs;

/// A process of two threads. It makes a third when it gets a line, and ends with its input.
#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_has_threads() {
    let Some([]) = orders() else { return };
    for line in ["", ""] {
        std::thread::spawn(move || {
            println!("{line}tid {}", rustix::thread::gettid().as_raw_nonzero());
            std::thread::park();
        });
        std::io::stdin().read_line(&mut String::new()).unwrap();
    }
}

#[test]
fn a_main_thread_in_anothers_group_does_not_take_its_process_there() {
    let _alone = alone();
    let mut helper = Helper::start("threads::helper_has_threads", &[]);
    let worker = Tid(helper.hear("tid ").parse().unwrap());
    let Some(mut stage) = Stage::new(two_llcs(), &[&helper.process], |_| {}) else { return };
    let (root, main) = (stage.root(), helper.process.tid());
    fs::create_dir(root.join("mon_groups/eye")).unwrap();
    // A task id names one thread, not its process.
    fs::write(root.join("mon_groups/eye/tasks"), format!("{main}\n")).unwrap();
    let cluster = Action::SetWays {
        llc: LlcId(0),
        cluster: "x".into(),
        way_mask: 0x3,
        memory_bandwidth_percent: None,
        threads: vec![main, worker],
        reason: "a test".into(),
    };
    stage.done(vec![cluster]);
    assert!([main, worker].iter().all(|tid| group_of(&root, *tid).0.starts_with("isobar-")));
    helper.send("another");
    let young = Tid(helper.hear("tid ").parse().unwrap());
    stage.machine.restore().unwrap();
    let eye = (String::new(), Some("eye".to_owned()));
    assert_eq!(group_of(&root, main), eye);
    assert_eq!(group_of(&root, worker), (String::new(), None), "it was never in that group");
    assert_eq!(group_of(&root, young), eye, "created in our group, it goes where its process goes");
}
