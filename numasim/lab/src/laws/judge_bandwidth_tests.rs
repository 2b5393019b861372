use super::*;
use crate::laws::test_kit::{self, spec};
use numasim_guest::counters::Node;
use numasim_model::num::round;

/// A window of one millisecond: CPUs that were busy all the time, what node 0 carried, and what the
/// link to node 1 carried.
fn window(label: &str, mega_bytes: f64, over: f64) -> String {
    // 1000 misses, all covered, with one line written for each; 400 us of 1000 us spent waiting.
    let cpu = Cpu {
        llc_references: 1000,
        llc_misses: 1000,
        bytes_read: 64_000,
        bytes_written: 64_000,
        stall_ps: 400_000_000,
        busy_ps: 1_000_000_000,
        covered: 1000,
        ..Cpu::default()
    };
    let node = Node { bytes_read: round(mega_bytes * 1e3), ..Node::default() };
    let link = Link { from: 0, to: 1, bytes: round(over * 1e3), ..Link::default() };
    test_kit::window(label, Counters { time_ns: 0, cpus: vec![cpu; 4], nodes: vec![node], links: vec![link] })
}

fn user() -> User {
    let spec = spec();
    let text = window("local1", 100.0, 0.0);
    let places = Places::of(&spec).unwrap();
    nature(&spec, &places, &Readings::parse(&text).between("local1").unwrap()).unwrap()
}

/// 600 us for 1000 misses: 600 ns between misses. All are covered, and one line is written for
/// each.
#[test]
fn the_nature_of_a_stream_by_hand() {
    let user = user();
    assert!(
        (user.rest - 600.0).abs() < 1e-9 && (user.covered - 1.0).abs() < 1e-12 && (user.written - 1.0).abs() < 1e-12
    );
    assert!((user.latency - 1200.0).abs() < 1e-9);
}

fn message(change: impl Fn(&str, f64) -> f64) -> Vec<Row> {
    let (spec, user) = (spec(), user());
    let places = Places::of(&spec).unwrap();
    let mut text = String::new();
    for one in windows(&places) {
        let law = expect(&spec, &places, &user, one.near, one.far);
        text += &window(&one.label, change(&one.label, 1000.0 * law[CONTROLLER]), 500.0 * law[OUT]);
    }
    bandwidth(&spec, &places, &Readings::parse(&text))
}

#[test]
fn what_the_law_gives_holds_and_a_machine_that_asks_for_little_does_not_saturate() {
    let rows = message(|_, law| law);
    assert_eq!(rows.len(), 2 + 3 + 3 + 2, "{rows:?}");
    assert!(rows.iter().all(|row| matches!(row.verdict, Verdict::Holds | Verdict::Skipped)), "{rows:?}");
    assert!(rows.iter().filter(|row| row.verdict == Verdict::Skipped).all(|row| row.why.is_some()));
}

#[test]
fn too_much_and_too_little_are_seen() {
    let fails =
        |change: fn(&str, f64) -> f64| message(change).iter().filter(|row| row.verdict == Verdict::Fails).count();
    assert_eq!(fails(|label, law| if label == "all" { 1030.0 } else { law }), 2, "off the law, and above the capacity");
    assert_eq!(fails(|label, law| if label == "local2" { law * 0.4 } else { law }), 2, "off the law, and it shrank");
    assert!(
        bandwidth(&spec(), &Places::of(&spec()).unwrap(), &Readings::default())
            .iter()
            .all(|row| row.verdict == Verdict::Fails)
    );
}
