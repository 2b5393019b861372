use super::*;
use crate::optimum::optimum;
use isobar_sim::Workload;

fn workload(apps: &str) -> Workload {
    let text = format!("machine = \"nehalem-2x4\"\n[run]\nruns = 1\ninstructions_factor = 0.05\n{apps}");
    Workload::from_toml("w.toml", &text).unwrap()
}

const CLONES: &str = "[[app]]\nprogram = \"soplex\"\nmemory_node = 0\ncount = 4\n";

fn found(apps: &str) -> Joint {
    joint(&workload(apps), 1500, &|| false).unwrap()
}

/// Pages may follow the threads and ways may be divided, so no mapping of threads alone does
/// better.
#[test]
fn it_is_no_worse_than_the_best_mapping_of_threads_and_keeps_to_its_bound() {
    let best = optimum(&workload(CLONES), 100, 1).unwrap().remove(0);
    let joint = found(CLONES);
    assert!(joint.summary.antt < best.summary.antt * 1.005, "{joint:?} {best:?}");
    assert!(joint.antt_bound <= joint.summary.antt && joint.antt_bound > 1.0, "{joint:?}");
    let gap = 100.0 * (joint.summary.antt / joint.antt_bound - 1.0);
    assert!((joint.gap_percent - gap).abs() < 1e-9 && joint.proved_optimal == (gap <= 100.0 * PROVED), "{joint:?}");
    assert!(!joint.exhausted && joint.questions >= 1500, "{joint:?}");
    assert_eq!(joint, found(CLONES), "the same every time");
}

/// One program alone is at its best on any cache: nothing to search, and proved.
#[test]
fn a_program_alone_is_proved_at_once() {
    let joint = found("[[app]]\nprogram = \"namd\"\n");
    assert!(joint.proved_optimal && joint.exhausted && joint.questions < 20, "{joint:?}");
    assert!((joint.summary.antt - 1.0).abs() < 1e-3, "{joint:?}");
}

#[test]
fn a_clock_ends_it_with_the_best_so_far() {
    let joint = joint(&workload(CLONES), 1500, &|| true).unwrap();
    assert!(
        joint.stopped && joint.questions <= 3 && !joint.proved_optimal && joint.summary.antt >= joint.antt_bound,
        "{joint:?}"
    );
}

/// The tables state the result, and how far it may be from the optimum.
#[test]
fn tables_say_where_everything_is() {
    let joint = found(CLONES);
    let text = joint_table(&joint);
    assert!(text.contains("soplex.1") && text.contains("vs linux -"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    let several = joints_table(&[("clones".to_owned(), 1.5, joint)]);
    assert!(several.contains("clones") && several.lines().all(|line| line.chars().count() <= 90), "{several}");
}
