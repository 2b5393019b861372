//! Tests the output for people, with the machine in memory.

use super::*;
use crate::report::{AppTruth, Json, Truth};
use crate::text::width;
use isobar_model::plan::{Action, Plan};
use isobar_model::wire::observation_from_json;
use isobar_model::{CpuId, NodeId, Pages, Pid, Policy, Seconds, Sensor, Tid};
use isobar_runtime::fake::Fake;
use isobar_runtime::selection::{Pattern, Rules};
use isobar_runtime::{Limits, Loop};
use jiff::{Span, Zoned};
use std::cell::Cell;

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
        let actions = vec![
            Action::MoveThread { pid: Pid(10), tid: Tid(11), cpu: CpuId(2), cpus: None, reason: reason() },
            migrate,
        ];
        Plan { actions, notes: vec!["steady".into()], ..Plan::nothing("mover") }
    }
}

/// A narrow terminal.
const SIZE: Size = Size { columns: 40, rows: 12 };

/// A clock that advances one second with each line, from just before midnight.
fn clock() -> WallClock {
    let lines = Cell::new(-4);
    WallClock::of(move || {
        lines.set(lines.get() + 1);
        let midnight: Zoned = "2026-11-22T00:00:00+01:00[+01:00]".parse().unwrap();
        &midnight + Span::new().seconds(lines.get())
    })
}

fn printed(fake: &mut Fake, terminal: bool, json: bool, dry_run: bool) -> String {
    text_at(Volume::Normal, fake, terminal, json, dry_run)
}

fn text_at(volume: Volume, fake: &mut Fake, terminal: bool, json: bool, dry_run: bool) -> String {
    let rules = Rules { only: vec![Pattern::parse("10"), Pattern::parse("absent")], ..Rules::default() };
    let mut out = Vec::new();
    if json {
        run(fake, rules, limits(2.0, dry_run), &mut Json::new(&mut out, clock()));
    } else {
        let size = terminal.then_some((|| SIZE) as fn() -> Size);
        run(fake, rules, limits(2.0, dry_run), &mut TextReporter::new(&mut out, size, clock(), volume));
    }
    String::from_utf8(out).unwrap()
}

fn limits(seconds: f64, dry_run: bool) -> Limits {
    Limits { duration: Some(Seconds(seconds)), dry_run, despite_missing: true, ..Limits::every(Seconds(1.0)) }
}

fn run(fake: &mut Fake, rules: Rules, limits: Limits, reporter: &mut dyn Reporter) {
    let tally = Loop::new(fake, Box::new(Mover), limits).selecting(rules).run(reporter).unwrap();
    reporter.end(&tally, &AfterRun::default()).unwrap();
}

#[test]
fn a_run_in_words() {
    insta::assert_snapshot!(printed(&mut Fake::default(), false, false, false));
}

#[test]
fn a_dry_run_with_a_missing_sensor_in_words() {
    let mut fake = Fake::default();
    fake.capabilities.missing.insert(Sensor::LlcMisses, "no PMU in this VM".into());
    fake.capabilities.remarks.push("CAP_SYS_NICE is missing".into());
    insta::assert_snapshot!(printed(&mut fake, false, false, true));
}

#[test]
fn a_sensor_that_is_lost_on_the_way_is_printed_once() {
    let mut lost = isobar_model::Capabilities::default();
    lost.missing.insert(Sensor::LlcMisses, "the counter reads 0".into());
    let mut fake = Fake { later: Some((3, lost)), ..Fake::default() };
    let text = printed(&mut fake, false, false, false);
    let line = "from now on not measured: LLC misses per thread: the counter reads 0\n";
    assert_eq!(text.matches(line).count(), 1, "{text}");
    assert!(text.find(line) > text.find("epoch 1 ") && text.find(line) < text.find("epoch 2 "), "{text}");
}

#[test]
fn refusals_are_printed_once_with_the_remedy() {
    let why = "moving threads of others needs CAP_SYS_NICE".to_owned();
    let mut fake = Fake { outcome: ActionOutcome::Refused { errno: Some(1), why: why.clone() }, ..Fake::default() };
    let text = printed(&mut fake, false, false, false);
    assert_eq!(text.matches("refused, errno 1]").count(), 4, "{text}");
    assert_eq!(text.matches("(further refusals").count(), 1, "{text}");
    assert!(text.contains(&format!("refused 4 times (errno 1): {why}")), "{text}");
}

#[test]
fn names_and_reasons_cannot_break_a_line_or_the_terminal() {
    for terminal in [false, true] {
        let text = printed(&mut Fake::default(), terminal, false, false);
        let own_sequences = text.replace("\r\x1b[5A\x1b[J", "").replace("\r\x1b[3A\x1b[J", "");
        assert!(!own_sequences.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}'), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("fake")), "{text}");
    }
    let json = printed(&mut Fake::default(), false, true, false);
    assert!(!json.contains('\u{202e}') && !json.contains('\u{1b}'), "{json:?}");
}

/// What a terminal shows after all that was written, with the lines that scrolled away above.
fn screen(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("\r\x1b[") {
            let (rows, after) = after.split_once("A\x1b[J").unwrap();
            lines.truncate(lines.len() - rows.parse::<usize>().unwrap());
            rest = after;
        }
        lines.push(rest.to_owned());
    }
    lines
}

#[test]
fn a_terminal_keeps_a_live_table_which_the_last_one_replaces() {
    let text = printed(&mut Fake::default(), true, false, false);
    assert_eq!(text.matches("pid  name").count(), 3, "two epochs and the end: {text:?}");
    for line in text.lines().filter(|line| line.contains("evil") && line.contains("200.0")) {
        assert!(width(line) < SIZE.columns, "{line}");
    }
    insta::assert_snapshot!(screen(&text).join("\n"));
    assert!(!printed(&mut Fake::default(), false, false, false).contains('\r'));
}

#[test]
fn a_run_that_fails_leaves_the_message_a_line_of_its_own() {
    let mut fake = Fake { fails_at: Some(3), ..Fake::default() };
    let mut out = Vec::new();
    let mut human = TextReporter::new(&mut out, Some(|| SIZE), WallClock::none(), Volume::Normal);
    Loop::new(&mut fake, Box::new(Mover), limits(9.0, false)).run(&mut human).unwrap_err();
    drop(human);
    assert!(String::from_utf8(out).unwrap().ends_with("200.0\n"));
}

#[test]
fn quiet_leaves_warnings_and_the_summary() {
    let mut fake = Fake { outcome: ActionOutcome::Refused { errno: Some(1), why: "no".into() }, ..Fake::default() };
    fake.capabilities.remarks.push("CAP_SYS_NICE is missing".into());
    for terminal in [false, true] {
        insta::assert_snapshot!("quiet", text_at(Volume::Quiet, &mut fake, terminal, false, false));
        fake.time = 0.0;
        fake.samples = 0;
        fake.applied.clear();
    }
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
            "completed  application  alone s  in this run s       slowdown",
            "        1  mcf             60.0           90.0          1.500",
            "        0  a\\nb            60.0              -  not yet known",
            "unfairness, STP and ANTT need one completed run of each program: run longer",
        ]
    );
}

#[test]
fn json_lines_repeat_the_decision() {
    let text = printed(&mut Fake::default(), false, true, false);
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    for (line, number) in lines[..2].iter().zip(1..) {
        assert_eq!(line["epoch"], number);
        let seen = observation_from_json(&line["observation"].to_string()).unwrap();
        assert_eq!(isobar_model::wire::plan_to_json(&Mover.decide(&seen)), line["plan"]);
        assert_eq!(line["outcome"][0]["result"], "done");
    }
    assert_eq!(lines[0]["unmatched_only"], serde_json::json!(["absent"]));
    assert!(lines[1].get("unmatched_only").is_none());
    for key in ["missing", "lacking", "remarks"] {
        assert!(lines[0].get(key).is_some() && lines[1].get(key).is_none(), "{key} is printed once");
    }
    assert_eq!(lines[1]["wall_time"], "2026-11-21T22:59:58.000Z");
    assert_eq!(lines[2]["summary"]["wall_time"], "2026-11-21T22:59:59.000Z");
    assert_eq!(lines[2]["summary"]["dropped_lines"], 0);
    assert_eq!(lines[2]["summary"]["epochs"], 2);
    assert_eq!(lines[2]["summary"]["restored"].as_array().unwrap().len(), 4);
}

/// A reader that loses one chunk, and lags behind for some of the time.
#[derive(Default)]
struct Lossy {
    text: Vec<u8>,
    chunk: Vec<u8>,
    chunks: u64,
    missed: u64,
    dropped: u64,
    behind: Vec<u64>,
}

impl io::Write for Lossy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.chunks += 1;
        let chunk = std::mem::take(&mut self.chunk);
        if self.chunks == self.missed {
            self.dropped += 1;
        } else {
            self.text.extend(chunk);
        }
        Ok(())
    }
}

impl Sink for Lossy {
    fn dropped_lines(&self) -> u64 {
        self.dropped
    }

    fn is_behind(&self) -> bool {
        self.behind.contains(&self.chunks)
    }
}

fn four_epochs(reporter: &mut dyn Reporter) {
    run(&mut Fake::default(), Rules::default(), limits(4.0, true), reporter);
}

#[test]
fn a_document_that_was_dropped_has_said_nothing() {
    let mut out = Lossy { missed: 2, ..Lossy::default() };
    four_epochs(&mut Json::new(&mut out, WallClock::none()));
    let text = String::from_utf8(out.text).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<_> = lines.iter().map(|line| (line["epoch"].as_u64(), line.get("missing").is_some())).collect();
    assert_eq!(said, [(Some(1), true), (Some(3), true), (Some(4), false), (None, false)]);
    assert_eq!(lines[3]["summary"]["dropped_lines"], 1);
    assert!(lines.iter().all(|line| line.get("wall_time").is_none()), "a machine without a wall clock");
}

#[test]
fn no_picture_erases_what_it_does_not_know() {
    // The header is the first chunk, the epochs are the next four.
    let mut out = Lossy { missed: 3, ..Lossy::default() };
    four_epochs(&mut TextReporter::new(&mut out, Some(|| SIZE), WallClock::none(), Volume::Normal));
    let text = String::from_utf8(out.text).unwrap();
    assert_eq!(text.matches("\x1b[J").count(), 2, "the block of epoch 1 stays, with the notice below it: {text:?}");

    let mut out = Lossy { behind: vec![2, 3], ..Lossy::default() };
    four_epochs(&mut TextReporter::new(&mut out, Some(|| SIZE), WallClock::none(), Volume::Normal));
    let text = String::from_utf8(out.text).unwrap();
    assert_eq!(text.matches("pid  name").count(), 3, "epochs 1 and 4, and the end: {text:?}");
    assert_eq!(screen(&text).iter().filter(|line| line.starts_with("pid  name")).count(), 1);
}

#[test]
fn a_kind_of_lines_has_a_limit_which_says_what_it_swallowed() {
    let limits = Limits { interval: Seconds(0.25), ..limits(12.0, true) };
    let mut texts = [Volume::Normal, Volume::Verbose].map(|volume| {
        let mut out = Vec::new();
        let human = &mut TextReporter::new(&mut out, None, WallClock::none(), volume);
        run(&mut Fake::default(), Rules::default(), limits, human);
        String::from_utf8(out).unwrap()
    });
    let [normal, verbose] = &mut texts;
    let count = |text: &str| text.matches("  move thread 11").count();
    assert_eq!(count(normal), 20 + 8, "20 of the first ten seconds, all of the rest");
    assert!(normal.contains("\n... 20 more lines like these about decisions in the last 10.0 s\n"), "{normal}");
    assert!(normal.contains("\n... 20 more lines like these about moved threads in the last 10.0 s\n"), "{normal}");
    assert_eq!((count(verbose), verbose.contains("more lines like these")), (48, false));
}
