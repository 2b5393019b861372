use super::*;
use crate::laws::row::Verdict;

fn spec() -> Spec {
    Spec::parse(include_str!("../../../machines/small-2x2.toml"), "m").unwrap()
}

fn look(cpu: [u64; 5], delay_ps: u64, time_ns: u64) -> String {
    let [instructions, references, misses, covered, stall_ps] = cpu;
    let one = format!(
        r#"{{"instructions":{instructions},"llc_references":{references},"llc_misses":{misses},"bytes_read":0,"bytes_written":0,"stall_ps":{stall_ps},"busy_ps":0,"covered":{covered}}}"#
    );
    let node = format!(r#"{{"bytes_read":0,"bytes_written":0,"delay_ps":{delay_ps}}}"#);
    format!(r#"{{"time_ns":{time_ns},"cpus":[{one},{one},{one},{one}],"nodes":[{node},{node}],"links":[]}}"#)
}

/// Loop of 40 ns (4 instructions at 100 MHz), LLC 400 ns, memory 1200 and 2000: a chase of 1000
/// loads each time.
fn told() -> String {
    let none = look([0; 5], 0, 0);
    // In the private cache; in the LLC; from memory; from the other node's.
    let after = |references, misses, stall: u64| look([4000, references, misses, 0, stall], 0, 1_000_000);
    let one = |name: &str, ns: f64, end: &str| {
        format!("@look {name} {none}\n@line {name} {{\"ns_per_load\":{ns},\"work\":1000}}\n@look {name}.end {end}\n")
    };
    [
        one("private", 40.0, &after(0, 0, 0)),
        one("llc", 440.0, &after(1000, 0, 400_000_000)),
        // Of 1100 references 100 are hits: 40,000 ns; 1000 misses of 1200 ns.
        one("pair0", 1240.0, &after(1100, 1000, 1_240_000_000)),
        one("pair1", 2040.0, &after(1000, 1000, 2_000_000_000)),
        "@line flushed {\"ns_per_load\":1240}\n@line kept {\"ns_per_load\":440}\n@line loaded {\"ns_per_load\":1540}\n"
            .to_owned(),
        format!("@look delays {}\n@look delays {}\n", look([0; 5], 250_000, 0), look([0; 5], 350_000, 0)),
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
    let rows = rows(&told());
    assert_eq!(rows.len(), 4 + 4 + 2 + 1);
    for row in &rows {
        assert_eq!(row.verdict, Verdict::Holds, "{row:?}");
        if matches!(row.bound, Bound::Within(_)) {
            assert!(row.deviation().unwrap().abs() < 1e-9, "{row:?}");
        }
    }
}

/// One figure at a time is wrong, and one row sees it.
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
        let text = told();
        assert!(text.contains(right), "{right}");
        let rows = rows(&text.replace(right, wrong));
        assert!(rows.iter().any(|row| row.verdict == Verdict::Fails), "{wrong}");
    }
}

#[test]
fn nothing_told_is_nothing_held() {
    assert!(rows("").iter().all(|row| row.verdict == Verdict::Fails && row.why.is_some()));
}
