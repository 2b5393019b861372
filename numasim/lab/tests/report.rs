//! Two recorded boots are combined again, and the table must say what their lines say.

#![allow(clippy::unwrap_used, clippy::panic)]

use numasim_guest::wire::Line;
use numasim_lab::experiment::{Experiment, Scale};
use numasim_lab::plan::{Options, order};
use numasim_lab::stats::Verdict;
use numasim_lab::summary::{Boot, Summary, summary};
use numasim_lab::{machine, report};

fn recorded(change: impl Fn(u32, Vec<Line>) -> Vec<Line>) -> Summary {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
    let experiment = Experiment::parse(&read("mini.toml"), "mini.toml").unwrap();
    let spec = machine::scaled(&experiment.machine, Scale::default()).unwrap();
    let options = Options { only: vec!["dino".into()], plain: false };
    let boot = |repeat: u32| {
        let text = read(&format!("mini-{}.jsonl", repeat + 1));
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let order = order(&experiment, &spec, repeat, &options).unwrap();
        Boot { repeat, order, lines: change(repeat, lines), problem: None }
    };
    summary(&experiment, &options.only, (20.0, 16.0), &[boot(0), boot(1)])
}

/// Two recorded boots: stock Linux took 0.6332 s in boot 1, DINO 0.6333 s. The programs do not
/// disturb each other.
#[test]
fn a_recorded_experiment_is_reported() {
    let got = recorded(|_, lines| lines);
    assert_eq!((got.repeats, got.baseline.as_str(), got.problems.len()), (2, "linux", 0));
    let (linux, dino) = (&got.rows[0], &got.rows[1]);
    assert_eq!((linux.runs, dino.runs, linux.verdict, dino.verdict), (2, 2, None, Some(Verdict::NotShown)));
    assert!((dino.vs_baseline.unwrap().mean - 1.0).abs() < 0.01);
    assert!((linux.each[&0].seconds["chase"] - 0.633_212_938).abs() < 1e-9);
    assert_eq!(dino.each[&0].daemon.unwrap().pages_moved, 189);
    assert_eq!(dino.each[&0].pages_migrated, Some(189), "the kernel counted what the daemon reports");
    let text = report::text(&got);
    assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
    assert!(text.contains("dino: no difference from linux is shown"), "{text}");
    assert_eq!(report::figures(&got).len(), 4);
}

/// The same boots with DINO's times doubled: the table must say that DINO loses, by how much, and
/// for which program.
#[test]
fn a_loser_is_called_one() {
    let got = recorded(|_, mut lines| {
        for line in &mut lines {
            let Line::Run(ran) = line else { continue };
            if ran.id == "under/dino" {
                for job in &mut ran.jobs {
                    let seconds = job.line.as_mut().unwrap().get_mut("seconds").unwrap();
                    *seconds = (seconds.as_f64().unwrap() * 2.0).into();
                }
            }
        }
        lines
    });
    assert_eq!(got.rows[1].verdict, Some(Verdict::Later));
    let text = report::text(&got);
    assert!(text.contains("dino LOSES: 100.") && text.contains("it costs chase (x2.0"), "{text}");
}

/// A run that did not count is listed with its reason, and the other runs of its boot count.
#[test]
fn what_did_not_count_is_listed() {
    let got = recorded(|repeat, mut lines| {
        for line in &mut lines {
            let Line::Run(ran) = line else { continue };
            if repeat == 0 && ran.id == "under/dino" {
                ran.problem = Some("1 of its jobs did not finish in time".to_owned());
            }
        }
        lines
    });
    assert_eq!((got.rows[0].runs, got.rows[1].runs), (2, 1));
    let text = report::text(&got);
    assert!(text.contains("boot 1: under/dino: 1 of its jobs"), "{text}");
    assert!(text.contains("in one boot, which proves nothing"), "{text}");
}
