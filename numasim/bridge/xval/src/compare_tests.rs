use super::*;
use crate::derive::tests::spec;
use crate::order::orders;
use numasim_guest::counters::{Counters, Cpu, Link, Node};
use numasim_guest::wire::{Job, JobRan, Run};

const TEXT: &str = "name = \"x\"\nmachine = \"nehalem-2x4\"\nsolo_seconds = 1.0\nmix_seconds = 2.0\nways = [8]\n\
                    [[program]]\nname = \"a\"\nrun = \"chase\"\n[[program]]\nname = \"b\"\nrun = \"stream\"\n\
                    [[mix]]\nname = \"pair\"\nof = [\"a@0\", \"b@1\"]\n[[mix]]\nname = \"far\"\nof = [\"a@4:0\"]\n";

/// A run as the law predicts it: on each CPU that is used 10^6 instructions with a base of 2 and
/// one miss in flight, so slow that nothing waits.
fn ran(run: &Run, mpki: f64) -> Ran {
    let mut cpus = vec![Cpu::default(); 8];
    for job in &run.jobs {
        let cpu = job.run_cpus.as_ref().unwrap()[0];
        let ns = if job.setup_cpus[0] / 4 == cpu / 4 { 1000.0 } else { 1800.0 };
        let cycles = num::round(1e6 * (2.0 + mpki / 1000.0 * ns * 0.1135));
        let llc_misses = num::round(mpki * 1000.0);
        let bytes_read = 64 * llc_misses;
        cpus[num::index(cpu)] = Cpu { instructions: 1_000_000, cycles, llc_misses, bytes_read, ..Cpu::default() };
    }
    let nodes = vec![Node::default(); 2];
    let links = [(0, 1), (1, 0)].map(|(from, to)| Link { from, to, ..Link::default() }).to_vec();
    let job = |name: &str| JobRan {
        name: name.to_owned(),
        background: true,
        line: None,
        problem: None,
        migrations: None,
        pages: Some([vec![1], vec![256]]),
    };
    let jobs = run.jobs.iter().map(|one| job(&one.name)).collect();
    let counters = Some(Counters { time_ns: 1_000_000_000_000, cpus, nodes, links });
    let vmstat = BTreeMap::new();
    Ran { id: run.id.clone(), jobs, seconds: 1000.0, problem: None, counters, vmstat, daemon: None, before: None }
}

fn all(mpki: impl Fn(&str) -> f64) -> (Xval, Vec<Ran>) {
    let xval = Xval::parse(TEXT, "x.toml").unwrap();
    let runs = orders(&xval, &spec(), 1).unwrap().remove(0).runs;
    let ran = runs.iter().map(|run| ran(run, mpki(&run.id))).collect();
    (xval, ran)
}

/// Misses depend neither on cache space nor on other programs, and nothing waits, so both machines
/// agree. Remote memory: (2 + 0.01 * 204.3) / (2 + 0.01 * 113.5) = 1.290.
#[test]
fn where_the_law_holds_both_agree() {
    let (xval, ran) = all(|_| 10.0);
    let found = compare(&xval, &spec(), &ran).unwrap();
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    assert_eq!(found.rows.len(), 3);
    assert!(found.rows.iter().all(|row| row.difference.abs() < 0.01 && row.reason.is_none()), "{:?}", found.rows);
    let far = &found.rows[2];
    assert!((far.steps.numasim - 1.2895).abs() < 1e-3 && (far.steps.law.unwrap() - 1.2895).abs() < 1e-3, "{far:?}");
    assert!(found.mean_difference.unwrap() < 0.01);
    assert!(found.misses_apart.unwrap().iter().all(|apart| *apart < 0.01), "{:?}", found.misses_apart);
}

/// A mix in which `a` misses five times as often as alone: the reason is sharing, and nothing else.
#[test]
fn misses_that_no_curve_shows_are_told_as_sharing() {
    let (xval, ran) = all(|id| if id == "mix/pair" { 50.0 } else { 10.0 });
    let found = compare(&xval, &spec(), &ran).unwrap();
    let row = &found.rows[0];
    assert!((row.steps.numasim - (2.0 + 5.675) / 3.135).abs() < 1e-3, "{row:?}");
    assert!((row.steps.misses_given / row.steps.numasim - 1.0).abs() < 0.01, "{row:?}");
    assert!(row.reason.as_ref().unwrap().starts_with("sharing: 50.0 MPKI here, 10.0 in the simulator"), "{row:?}");
}

#[test]
fn what_did_not_run_is_told_and_the_rest_compared() {
    let (xval, mut ran) = all(|_| 10.0);
    ran.retain(|ran| ran.id != "alone/b/all/local" && ran.id != "alone/a/8/local");
    let found = compare(&xval, &spec(), &ran).unwrap();
    assert_eq!(found.rows.len(), 1);
    let message = found.problems.join("\n");
    assert!(
        message.contains("alone/a/8/local: it did not run") && message.contains("mix/pair: b@1 has no run alone"),
        "{message}"
    );
}

/// Two programs whose memory is at first on the other's node. Passes of `a` take a third longer
/// under stock Linux than alone, and a tenth longer under the policy; those of `b` take half as
/// long again, and as long as alone. All passes that were done count, not only the first ones.
#[test]
fn managed_mixes_are_compared_program_by_program() {
    let text = TEXT.replace("[[mix]]\nname = \"far\"\nof = [\"a@4:0\"]\n", "");
    let text = format!("policies = [\"isobar\"]\n{text}[[managed]]\nname = \"apart\"\nof = [\"a@4:0\", \"b@0:1\"]\n");
    let xval = Xval::parse(&text, "x.toml").unwrap();
    let runs = orders(&xval, &spec(), 1).unwrap().remove(0).runs;
    let pass = |id: &str, name: &str| match (id, name) {
        ("managed/linux/apart", "a@4") => 0.4,
        ("managed/linux/apart", "b@0") => 0.45,
        ("managed/isobar/apart", "a@4") => 0.33,
        _ => 0.3,
    };
    let ran: Vec<Ran> = runs
        .iter()
        .map(|run| {
            let alone = Run {
                jobs: run
                    .jobs
                    .iter()
                    .map(|job| Job { run_cpus: job.run_cpus.clone().or(job.begin_cpus.clone()), ..job.clone() })
                    .collect(),
                ..run.clone()
            };
            let mut ran = ran(&alone, 10.0);
            for job in &mut ran.jobs {
                let pass = pass(&run.id, &job.name);
                job.line = Some(serde_json::json!({"passes": [0.3, 0.3], "seconds": 10.0 * pass, "passes_done": 10}));
                job.migrations = Some(2);
                job.background = job.name != "timer";
            }
            ran
        })
        .collect();
    let found = compare(&xval, &spec(), &ran).unwrap();
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    let [linux, isobar] = found.managed.as_slice() else { panic!("{:?}", found.managed) };
    let slowdowns = |under: &Under| under.programs.iter().map(|row| row.slowdown.numasim).collect::<Vec<_>>();
    let near = |a: &[f64], b: [f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near(&slowdowns(linux), [4.0 / 3.0, 1.5]) && near(&slowdowns(isobar), [1.1, 1.0]), "{linux:?} {isobar:?}");
    let ratio = isobar.over_linux.unwrap();
    assert!((ratio.numasim - (1.1 * 0.75 / 1.5_f64).sqrt()).abs() < 1e-9, "{ratio:?}");
    // In the simulator both are moved to their memory: slower than alone, but faster than with
    // remote memory to the end.
    assert!(isobar.programs.iter().all(|row| (1.0..1.2).contains(&row.slowdown.simulator)), "{isobar:?}");
    assert_eq!((linux.thread_moves.numasim, linux.thread_moves.simulator), (Some(4), Some(0)));
    assert_eq!(found.managed_agreement.unwrap().rows[0], 4);
}
