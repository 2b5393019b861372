//! What a person reads, against the machine in memory.

use super::*;
use crate::harness::fake::Fake;
use crate::harness::{self, Context, Limits};
use crate::report::Json;
use crate::select::{Pattern, Rules};
use crate::truth::AppTruth;
use isobar_model::plan::{Action, Plan};
use isobar_model::wire::observation_from_json;
use isobar_model::{CpuId, NodeId, Pages, Pid, Policy, Seconds, Sensor, Tid};

struct Mover;

impl Policy for Mover {
    fn name(&self) -> &'static str {
        "mover"
    }

    fn needs(&self) -> &'static [Sensor] {
        &[]
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let reason = || format!("{} misses most\nfake line", seen.processes[0].name);
        let migrate = Action::MigratePages {
            pid: Pid(10),
            from: NodeId(0),
            to: NodeId(1),
            pages: Pages(64),
            select: isobar_model::PageSelection::AroundSamples,
            for_thread: None,
            reason: reason(),
        };
        let actions = vec![Action::MoveThread { pid: Pid(10), tid: Tid(11), cpu: CpuId(2), reason: reason() }, migrate];
        Plan { actions, notes: vec!["steady".into()], ..Plan::nothing("mover") }
    }
}

/// A narrow terminal.
const COLUMNS: usize = 40;

fn told(fake: &mut Fake, terminal: bool, json: bool, dry_run: bool) -> String {
    let rules = Rules {
        only: vec![Pattern::parse("10"), Pattern::parse("absent")],
        ignore: vec![],
        never: BTreeSet::new(),
        min_share: 0.1,
        max_threads: 9,
    };
    let context =
        Context { rules, cgroup: &|_| None, refusal: &|_, _| None, stop: &|| false, own_cpu: None, recovered: None };
    let limits = Limits { interval: Seconds(1.0), duration: Some(Seconds(2.0)), epochs: None, dry_run };
    let mut out = Vec::new();
    if json {
        run(fake, &context, limits, &mut Json::new(&mut out));
    } else {
        run(fake, &context, limits, &mut Human::new(&mut out, terminal.then_some(|| COLUMNS)));
    }
    String::from_utf8(out).unwrap()
}

fn run(fake: &mut Fake, context: &Context<'_>, limits: Limits, reporter: &mut dyn Reporter) {
    let tally = harness::run(fake, &mut Mover, context, limits, reporter).unwrap();
    reporter.end(&tally, None).unwrap();
}

#[test]
fn a_run_in_words() {
    insta::assert_snapshot!(told(&mut Fake::default(), false, false, false));
}

#[test]
fn a_dry_run_with_a_missing_sensor_in_words() {
    let mut fake = Fake::default();
    fake.capabilities.missing.insert(Sensor::LlcMisses, "no PMU in this VM".into());
    fake.capabilities.remarks.push("CAP_SYS_NICE is missing".into());
    insta::assert_snapshot!(told(&mut fake, false, false, true));
}

#[test]
fn refusals_are_told_once_with_the_remedy() {
    let why = "moving threads of others needs CAP_SYS_NICE".to_owned();
    let mut fake = Fake { outcome: ActionOutcome::Refused { errno: Some(1), why: why.clone() }, ..Fake::default() };
    let text = told(&mut fake, false, false, false);
    assert_eq!(text.matches("refused, errno 1]").count(), 4, "{text}");
    assert_eq!(text.matches("(told once").count(), 1, "{text}");
    assert!(text.contains(&format!("refused 4 times (errno 1): {why}")), "{text}");
}

#[test]
fn names_and_reasons_cannot_break_a_line_or_the_terminal() {
    for terminal in [false, true] {
        let text = told(&mut Fake::default(), terminal, false, false);
        let own_sequences = text.replace("\r\x1b[K", "");
        assert!(!own_sequences.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}'), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("fake")), "{text}");
    }
    let json = told(&mut Fake::default(), false, true, false);
    assert!(!json.contains('\u{202e}') && !json.contains('\u{1b}'), "{json:?}");
}

#[test]
fn the_status_line_moves_on_a_terminal_only() {
    let text = told(&mut Fake::default(), true, false, false);
    assert!(text.contains("\r\x1b[Kepoch 2 at 2.0 s: 2 threads, 2 managed…\r\x1b[K"), "{text:?}");
    assert!(!told(&mut Fake::default(), false, false, false).contains('\r'));
}

#[test]
fn a_run_that_fails_leaves_no_status_line() {
    let mut fake = Fake { fails_at: Some(3), ..Fake::default() };
    let context = Context {
        rules: Rules { only: vec![], ignore: vec![], never: BTreeSet::new(), min_share: 0.1, max_threads: 9 },
        cgroup: &|_| None,
        refusal: &|_, _| None,
        stop: &|| false,
        own_cpu: None,
        recovered: None,
    };
    let limits = Limits { interval: Seconds(1.0), duration: None, epochs: None, dry_run: false };
    let mut out = Vec::new();
    harness::run(&mut fake, &mut Mover, &context, limits, &mut Human::new(&mut out, Some(|| COLUMNS))).unwrap_err();
    assert!(String::from_utf8(out).unwrap().ends_with("managed…\r\x1b[K"));
}

#[test]
fn the_truth_of_a_simulated_machine_comes_last() {
    let app = |name: &str, slowdown: Option<f64>| AppTruth {
        name: name.to_owned(),
        completed: usize::from(slowdown.is_some()),
        seconds: slowdown.map(|slowdown| slowdown * 60.0),
        alone_seconds: Some(60.0),
        slowdown,
    };
    let lines = table::truth(&Truth { apps: vec![app("mcf", Some(1.5)), app("a\nb", None)], summary: None });
    assert_eq!(
        lines[1..],
        [
            "completed  application  alone s  here s       slowdown",
            "        1  mcf             60.0    90.0          1.500",
            "        0  a\\nb            60.0       -  not yet known",
            "unfairness, STP and ANTT want one completed run of each: let it run longer",
        ]
    );
}

#[test]
fn json_lines_repeat_the_decision() {
    let text = told(&mut Fake::default(), false, true, false);
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    for (line, number) in lines[..2].iter().zip(1..) {
        assert_eq!(line["epoch"], number);
        let seen = observation_from_json(&line["observation"].to_string()).unwrap();
        assert_eq!(isobar_model::wire::plan_to_json(&Mover.decide(&seen)), line["plan"]);
        assert_eq!(line["outcome"][0]["result"], "done");
    }
    assert_eq!(lines[0]["unmatched_only"], serde_json::json!(["absent"]));
    assert_eq!(lines[1]["unmatched_only"], serde_json::Value::Null);
    assert_eq!(lines[2]["summary"]["epochs"], 2);
    assert_eq!(lines[2]["summary"]["restored"].as_array().unwrap().len(), 4);
}
