//! The programs of a run as the guest starts them: each where its memory is to lie, and the timer,
//! which counts the seconds.

use crate::file::{CLOCK, Seat, TIMER, Xval, timer_cpu};
use isobar_model::num;
use numasim_guest::wire::Job;
use numasim_model::Spec;

/// The timer's work in a pass: some milliseconds, in registers only.
const TIMER_WORK: &str = "--work 100000 --seconds";

/// A program with the place of its set-up, confined to its CPU.
#[must_use]
pub fn job(xval: &Xval, spec: &Spec, seat: &Seat) -> Job {
    let run = xval.program.iter().find(|program| program.name == seat.program).map(|program| program.run.as_str());
    let node = seat.node(spec);
    let local = num::narrow(seat.home(spec)) == node;
    Job {
        name: format!("{}@{}", seat.program, seat.cpu),
        argv: words(run.unwrap_or_default()),
        setup_cpus: vec![if local { seat.cpu } else { first_cpu(spec, num::index(node)) }],
        begin_cpus: None,
        run_cpus: Some(vec![seat.cpu]),
        background: true,
        placed_by_hand: false,
    }
}

/// The timer: a program without memory on the last CPU, whose end is the end of the run.
#[must_use]
pub fn timer(spec: &Spec, seconds: f64) -> Job {
    let cpus = vec![timer_cpu(spec)];
    let argv = words(&format!("{CLOCK} {TIMER_WORK} {seconds}"));
    let (setup_cpus, run_cpus) = (cpus.clone(), Some(cpus));
    Job {
        name: TIMER.to_owned(),
        argv,
        setup_cpus,
        begin_cpus: None,
        run_cpus,
        background: false,
        placed_by_hand: false,
    }
}

/// The first CPU of a node.
#[must_use]
pub fn first_cpu(spec: &Spec, node: usize) -> u32 {
    spec.node.get(node).and_then(|node| node.cpus.as_slice().first()).map_or(0, |cpu| num::narrow(*cpu))
}

/// The words of a command. The first word gets its path, because the guest's shell has some
/// commands of the same names.
fn words(command: &str) -> Vec<String> {
    let mut words: Vec<_> = command.split_whitespace().map(str::to_owned).collect();
    if let Some(first) = words.first_mut().filter(|first| !first.contains('/')) {
        *first = format!("/bin/{first}");
    }
    words
}
