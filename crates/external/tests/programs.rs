//! Programs that decide well, badly and not at all, each started as a real process.

#![allow(clippy::unwrap_used, clippy::panic)]

use isobar_external::{Costs, External, OnFault, Options, Program};
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{CpuId, Observation, Pid, Plan, Policy, Process, Thread, Tid};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A plan that is valid for [`seen`].
const PLAN: &str = r#"{"actions":[{"kind":"move_thread","pid":1,"tid":2,"cpu":3,"reason":"it is free"}]}"#;

fn seen() -> Observation {
    let thread = Thread { cpu: Some(CpuId(0)), ..Thread::unmeasured(Tid(2)) };
    let process = Process { pid: Pid(1), threads: vec![thread], ..Process::default() };
    Observation::bare(Arc::new(synthetic("node:2 core:2").unwrap()), vec![process])
}

fn options(milliseconds: u64, on_fault: OnFault) -> Options {
    let timeout = Duration::from_millis(milliseconds);
    let stop = Arc::default();
    Options { timeout, stop, restarts: 2, needs: &[], uses: &[], on_fault, here: true, remark: None }
}

/// A policy that is a shell script.
fn policy(script: &str, options: &Options) -> External {
    let name = format!("exec:sh -c {}", quoted(script));
    External::start(&Program::of_policy(&name).unwrap().unwrap(), options, &Costs::default())
}

fn quoted(script: &str) -> String {
    format!("'{}'", script.replace('\'', r"'\''"))
}

/// Milliseconds that suffice even on a busy machine; only a program that does not answer takes that
/// long.
const AMPLE: u64 = 20_000;

fn steady(script: &str) -> External {
    policy(script, &options(AMPLE, OnFault::GoOn))
}

/// The fault, in the words of the next plan's note.
fn fault(policy: &mut External) -> String {
    let plan = policy.decide(&seen());
    assert!(plan.actions.is_empty(), "{plan:?}");
    plan.notes.first().cloned().unwrap_or_default()
}

fn moves(plan: &Plan) -> usize {
    plan.validate(&seen()).unwrap();
    plan.actions.len()
}

#[test]
fn one_process_answers_every_observation() {
    let mut policy =
        steady(&format!(r#"echo '{{"isobar": 1, "name": "mine"}}'; while read -r line; do echo '{PLAN}'; done"#));
    for _ in 0..3 {
        let plan = policy.decide(&seen());
        assert_eq!((moves(&plan), plan.policy.as_str()), (1, policy.name()));
        assert!(plan.notes.is_empty() && policy.failed().is_none(), "{plan:?}");
    }
}

#[test]
fn the_program_reads_what_decide_reads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen.json");
    let mut policy =
        steady(&format!(r#"read -r line; echo "$line" > {}; echo '{PLAN}'; read -r line"#, file.display()));
    assert_eq!(moves(&policy.decide(&seen())), 1);
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(isobar_model::wire::observation_from_json(&text).unwrap(), seen());
}

#[test]
fn what_is_wrong_with_an_answer_is_said_and_the_program_goes_on() {
    let bad = r#"{"actions":[{"kind":"move_thread","pid":1,"tid":2,"cpu":9,"reason":"?"}]}"#;
    let script = format!(
        "read -r l; echo nonsense; echo why >&2; read -r l; echo '{bad}'; while read -r l; do echo '{PLAN}'; done"
    );
    let mut policy = steady(&script);
    let note = fault(&mut policy);
    assert!(note.contains("gave an answer that is not a plan: document: expected"), "{note}");
    assert!(note.starts_with("nothing is planned: exec:sh -c "), "{note}");
    let note = fault(&mut policy);
    assert!(note.contains("cpu 9 is not online on this machine"), "{note}");
    assert_eq!(moves(&policy.decide(&seen())), 1);
}

#[test]
fn a_death_is_told_with_the_last_words_and_restarts_are_bounded() {
    let mut policy = steady("read -r line; echo Traceback >&2; echo \"KeyError: 'pages'\" >&2; exit 3");
    let mut notes = Vec::new();
    for _ in 0..6 {
        notes.push(fault(&mut policy));
    }
    let died = "has ended (exit code 3); its last line on stderr: KeyError: 'pages'";
    assert!(notes[0].ends_with(died) && notes[1].ends_with(died), "{notes:#?}");
    assert!(notes[2].contains("is restarted in 1 decisions"), "{notes:#?}");
    assert!(notes[3].ends_with(died), "{notes:#?}");
    assert!(notes[4].contains("has ended 3 times with fewer than 10 good plans in between"), "{notes:#?}");
    assert_eq!(notes[4], notes[5]);
}

#[test]
fn in_a_simulation_a_fault_is_the_end() {
    let mut policy = policy("echo gone >&2", &options(AMPLE, OnFault::End));
    fault(&mut policy);
    let failed = policy.failed().unwrap();
    assert_eq!(failed, "has ended (exit code 0); its last line on stderr: gone");
}

#[test]
fn a_slow_answer_is_thrown_away_and_the_next_one_is_taken() {
    let slow = format!("read -r l; sleep 1; echo nonsense; while read -r l; do echo '{PLAN}'; done");
    let mut policy = policy(&slow, &options(400, OnFault::GoOn));
    assert!(fault(&mut policy).contains("took longer than 0.4 s"));
    assert!(fault(&mut policy).contains("is still working on an earlier observation"));
    let until = Instant::now() + Duration::from_secs(20);
    let mut plan = policy.decide(&seen());
    while plan.actions.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
        plan = policy.decide(&seen());
    }
    assert_eq!(moves(&plan), 1, "the late answer was nonsense, and is not taken for a later one: {plan:?}");
}

#[test]
fn a_request_to_stop_ends_the_wait_for_an_answer() {
    let options = options(AMPLE, OnFault::GoOn);
    let mut policy = policy("sleep 600", &options);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            options.stop.store(true, Ordering::SeqCst);
        });
        assert!(fault(&mut policy).contains("had not answered when isobar was asked to stop"));
    });
    assert!(begin.elapsed() < Duration::from_millis(AMPLE / 2), "{:?}", begin.elapsed());
}

#[test]
fn silence_costs_the_time_out_once_and_ends_the_program_after_ten_decisions() {
    let mut policy = policy("sleep 600", &options(50, OnFault::GoOn));
    let begin = Instant::now();
    let notes: Vec<_> = (0..10).map(|_| fault(&mut policy)).collect();
    assert!(notes[0].contains("took longer than 0.05 s"), "{notes:#?}");
    assert!(notes[8].contains("is still working"), "{notes:#?}");
    assert!(notes[9].contains("has not answered in 10 decisions, and was stopped"), "{notes:#?}");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn floods_are_bounded() {
    let mut endless = steady("exec cat /dev/zero");
    assert!(fault(&mut endless).contains("wrote a line of more than 8 MiB, and was stopped"));
    let mut lines = steady("exec yes '{\"actions\":[]}'");
    // The fault shows before the first question if the program is quick, or before the second.
    let notes = [lines.decide(&seen()).notes, lines.decide(&seen()).notes].concat();
    assert!(notes[0].contains("wrote an unexpected line"), "{notes:?}");
    // A program that floods its stderr still answers.
    let flood = format!("yes flood >&2 & while read -r l; do echo '{PLAN}'; done");
    let mut flood = steady(&flood);
    for _ in 0..3 {
        assert_eq!(moves(&flood.decide(&seen())), 1);
    }
}

#[test]
fn a_program_that_does_not_read_and_one_of_another_contract_are_told() {
    let mut deaf = policy("exec sleep 600", &options(100, OnFault::GoOn));
    let mut large = seen();
    let process = large.processes[0].clone();
    large.processes = (1..2000).map(|pid| Process { pid: Pid(pid), threads: Vec::new(), ..process.clone() }).collect();
    assert!(deaf.decide(&large).notes[0].contains("took longer than 0.1 s"));
    let mut newer = steady(r#"echo '{"isobar": 2}'; read -r line"#);
    assert!(fault(&mut newer).contains("speaks version 2 of the contract, and isobar speaks version 1"));
}

#[test]
fn its_own_process_is_not_among_those_that_it_sees() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pid");
    let script = format!(
        "echo $$ > {}; while read -r line; do echo \"$line\" >&2; echo '{{\"actions\":[]}}'; done",
        pids.display()
    );
    let mut policy = steady(&script);
    let plan = policy.decide(&seen());
    assert!(plan.notes.is_empty(), "{plan:?}");
    let pid: u32 = fs::read_to_string(&pids).unwrap().trim().parse().unwrap();
    let mut with = seen();
    with.processes.push(Process { pid: Pid(pid), ..Process::default() });
    assert!(policy.decide(&with).notes.is_empty());
    // A plan about its own process is refused, because that process was not observed.
    let own = format!(r#"{{"actions":[{{"kind":"set_allocation","pid":{pid},"node":0,"reason":"me"}}]}}"#);
    let mut selfish = steady(&format!("while read -r line; do echo '{own}' | sed s/{pid}/$$/; done"));
    assert!(fault(&mut selfish).contains("was not observed"));
}

/// In a simulation pids begin at 1000, and the program's own pid may be one of them by chance. The
/// simulated process is a different one, and is visible.
#[test]
fn a_simulated_process_of_its_number_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!(
        r#"echo $$ > {}
        while read -r line; do
            case $line in *'"pid":'$$,*) said=seen ;; *) said=unseen ;; esac
            echo "{{\"actions\":[],\"notes\":[\"$said\"]}}"
        done"#,
        file.display()
    );
    for (here, said) in [(true, "unseen"), (false, "seen")] {
        let mut policy = policy(&script, &Options { here, ..options(AMPLE, OnFault::End) });
        assert_eq!(policy.decide(&seen()).notes, ["unseen"]);
        let pid: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let mut with = seen();
        with.processes.push(Process { pid: Pid(pid), ..Process::default() });
        assert_eq!(policy.decide(&with).notes, [said]);
    }
}

#[test]
fn all_that_it_started_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!(
        "sleep 600 & echo $! $$ > {}; trap '' TERM; while :; do read -r l && echo '{PLAN}'; done",
        pids.display()
    );
    let mut policy = steady(&script);
    assert_eq!(moves(&policy.decide(&seen())), 1);
    drop(policy);
    for pid in fs::read_to_string(&pids).unwrap().split_whitespace() {
        // A killed process that is not a child of this process is gone a moment after the signal
        // was sent.
        let until = Instant::now() + Duration::from_secs(20);
        while is_alive(pid) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(!is_alive(pid), "{pid} is still there");
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn what_asking_costs_is_counted() {
    let costs = Costs::default();
    let name = format!("exec:sh -c {}", quoted(&format!("while read -r l; do echo '{PLAN}'; done")));
    let program = Program::of_policy(&name).unwrap().unwrap();
    let mut policy = External::start(&program, &options(AMPLE, OnFault::End), &costs);
    (0..5).for_each(|_| drop(policy.decide(&seen())));
    drop(policy);
    let cost = costs.sum();
    assert_eq!(cost.decisions, 4, "the first one is left out");
    let each = cost.each().unwrap();
    assert!(each.isobar > 0.0 && each.isobar <= each.elapsed, "{each:?}");
}
