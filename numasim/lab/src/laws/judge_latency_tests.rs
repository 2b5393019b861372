use super::*;
use crate::laws::row::Verdict;
use crate::laws::test_kit::{self, spec};
use numasim_guest::counters::{Counters, Node};

/// A loop of 40 ns (4 instructions at 100 MHz), an LLC of 400 ns, memory of 1200 and 2000 ns; each
/// chase makes 1000 loads.
fn message() -> String {
    let one = |name: &str, ns: f64, llc_references, llc_misses, stall_ps| {
        let cpu = Cpu { instructions: 4000, llc_references, llc_misses, stall_ps, ..Cpu::default() };
        let looks = test_kit::window(name, Counters { cpus: vec![cpu; 4], ..Counters::default() });
        format!("{looks}@line {name} {{\"ns_per_load\":{ns},\"work\":1000}}\n")
    };
    let delay = |delay_ps| {
        let nodes = vec![Node { delay_ps, ..Node::default() }; 2];
        test_kit::look("delays", &Counters { nodes, ..Counters::default() })
    };
    [
        one("private", 40.0, 0, 0, 0),
        one("llc", 440.0, 1000, 0, 400_000_000),
        // Of 1100 references 100 are hits, which cost 40,000 ns; 1000 are misses of 1200 ns.
        one("pair0", 1240.0, 1100, 1000, 1_240_000_000),
        // From the other node's memory.
        one("pair1", 2040.0, 1000, 1000, 2_000_000_000),
        "@line flushed {\"ns_per_load\":1240}\n@line kept {\"ns_per_load\":440}\n@line loaded {\"ns_per_load\":1540}\n"
            .to_owned(),
        delay(250_000),
        delay(350_000),
    ]
    .concat()
}

fn rows(text: &str) -> Vec<Row> {
    let (spec, readings) = (spec(), Readings::parse(text));
    let places = Places::of(&spec).unwrap();
    let all = [latency, cache, flush, load];
    all.iter().flat_map(|judge| judge(&spec, &places, &readings)).collect()
}

#[test]
fn a_machine_that_is_as_its_file_says_by_hand() {
    let rows = rows(&message());
    assert_eq!(rows.len(), 4 + 4 + 2 + 1);
    for row in &rows {
        assert_eq!(row.verdict, Verdict::Holds, "{row:?}");
        if matches!(row.bound, Bound::Within(_)) {
            assert!(row.deviation().unwrap().abs() < 1e-9, "{row:?}");
        }
    }
}

/// Whichever figure is wrong, a row fails.
#[test]
fn each_wrong_figure_is_seen() {
    for (right, wrong) in [
        ("@line pair0 {\"ns_per_load\":1240,", "@line pair0 {\"ns_per_load\":1370,"),
        ("\"stall_ps\":2000000000", "\"stall_ps\":1900000000"),
        ("@line llc {\"ns_per_load\":440,", "@line llc {\"ns_per_load\":390,"),
        ("@line flushed {\"ns_per_load\":1240}", "@line flushed {\"ns_per_load\":440}"),
        ("@line kept {\"ns_per_load\":440}", "@line kept {\"ns_per_load\":1240}"),
        ("@line loaded {\"ns_per_load\":1540}", "@line loaded {\"ns_per_load\":1480}"),
        ("@line pair1", "@line somebody"),
    ] {
        let text = message();
        assert!(text.contains(right), "{right}");
        let rows = rows(&text.replace(right, wrong));
        assert!(rows.iter().any(|row| row.verdict == Verdict::Fails), "{wrong}");
    }
}

#[test]
fn nothing_measured_is_nothing_held() {
    assert!(rows("").iter().all(|row| row.verdict == Verdict::Fails && row.why.is_some()));
}

#[test]
fn where_misses_overlap_the_loop_is_hidden() {
    let spec = spec();
    assert!((by_load_ns(&spec, 40.0, 1200.0) - 1240.0).abs() < 1e-9);
    let overlapped = Spec { overlap: numasim_model::Overlap::NEHALEM, ..spec };
    assert!((by_load_ns(&overlapped, 40.0, 1200.0) - 1200.0).abs() < 1e-9);
    assert!((by_load_ns(&overlapped, 40.0, 10.0) - 40.0).abs() < 1e-9);
}
