use super::*;

fn spec() -> Spec {
    Spec::parse(include_str!("../../../machines/small-2x2.toml"), "m").unwrap()
}

/// What a window of one millisecond counted: a CPU that has been busy all the time, what node 0
/// carried and what the link to node 1.
fn window(label: &str, mega_bytes: f64, over: f64) -> String {
    let look = |label: String, time_ns: u64, part: f64| {
        let count = |value: f64| numasim_model::num::round(value * part);
        // 1000 misses, all covered, one line written for each; 400 us of 1000 us waiting.
        let (misses, stall, busy) = (count(1000.0), count(4e8), count(1e9));
        let cpu = format!(
            r#"{{"instructions":{misses},"llc_references":{misses},"llc_misses":{misses},"bytes_read":{0},"bytes_written":{0},"stall_ps":{stall},"busy_ps":{busy},"covered":{misses}}}"#,
            64 * misses
        );
        let bytes = count(mega_bytes * 1e3);
        let link = count(over * 1e3);
        format!(
            r#"@look {label} {{"time_ns":{time_ns},"cpus":[{cpu},{cpu},{cpu},{cpu}],"nodes":[{{"bytes_read":{bytes},"bytes_written":0,"delay_ps":0}}],"links":[{{"from":0,"to":1,"bytes":{link}}}]}}
"#
        )
    };
    look(label.to_owned(), 0, 0.0) + &look(plan::end(label), 1_000_000, 1.0)
}

fn user() -> User {
    let spec = spec();
    let text = window("local1", 100.0, 0.0);
    let places = Places::of(&spec).unwrap();
    nature(&spec, &places, &Readings::parse(&text).between("local1").unwrap()).unwrap()
}

/// 600 us of 1000 misses: 600 ns between misses; all covered, as many written.
#[test]
fn the_nature_of_a_stream_by_hand() {
    let user = user();
    assert!(
        (user.rest - 600.0).abs() < 1e-9 && (user.covered - 1.0).abs() < 1e-12 && (user.written - 1.0).abs() < 1e-12
    );
    assert!((user.latency - 1200.0).abs() < 1e-9);
}

fn told(change: impl Fn(&str, f64) -> f64) -> Vec<Row> {
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
    let rows = told(|_, law| law);
    assert_eq!(rows.len(), 2 + 3 + 3 + 2, "{rows:?}");
    assert!(rows.iter().all(|row| matches!(row.verdict, Verdict::Holds | Verdict::Skipped)), "{rows:?}");
    assert!(rows.iter().filter(|row| row.verdict == Verdict::Skipped).all(|row| row.why.is_some()));
}

#[test]
fn too_much_and_too_little_are_seen() {
    let fails = |change: fn(&str, f64) -> f64| told(change).iter().filter(|row| row.verdict == Verdict::Fails).count();
    assert_eq!(fails(|label, law| if label == "all" { 1030.0 } else { law }), 2, "off the law, and above the capacity");
    assert_eq!(fails(|label, law| if label == "local2" { law * 0.4 } else { law }), 2, "off the law, and it shrank");
    assert!(
        bandwidth(&spec(), &Places::of(&spec()).unwrap(), &Readings::default())
            .iter()
            .all(|row| row.verdict == Verdict::Fails)
    );
}
