//! The runs of a cross-validation, dealt out to the boots that run side by side. A run is a set of
//! programs that repeat their passes until a program without memory, on a CPU of its own, has
//! counted the seconds: so all run beside all others from its first count to its last.

use crate::file::{Seat, Xval, timer_cpu};
use isobar_model::num;
use numasim_guest::wire::{Job, Order, Regime, Run, Ways};
use numasim_model::Spec;
use std::collections::BTreeSet;

/// The job whose end is the end of the run.
const TIMER: &str = "timer";
/// The command of the timer, without the seconds: passes of some milliseconds in registers.
const TIMER_RUN: &str = "/bin/cpu --work 100000 --seconds";
/// A run may take this many times its seconds, and this many seconds more for its set-up.
pub(crate) const PATIENCE: (f64, f64) = (3.0, 60.0);

/// A run in which a program is alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alone {
    /// Its program.
    pub program: String,
    /// The ways it may fill; all of them where `None`.
    pub ways: Option<u32>,
    /// Whether its memory is on the nearest other node.
    pub remote: bool,
}

impl Alone {
    /// The id of its run.
    #[must_use]
    pub fn id(&self) -> String {
        let ways = self.ways.map_or_else(|| "all".to_owned(), |ways| ways.to_string());
        format!("alone/{}/{ways}/{}", self.program, if self.remote { "remote" } else { "local" })
    }
}

/// The id of a mix's run.
#[must_use]
pub fn mix_id(mix: &str) -> String {
    format!("mix/{mix}")
}

/// All runs of a program alone: with all ways, with fewer, and with all and remote memory.
#[must_use]
pub fn alone(xval: &Xval, spec: &Spec, program: &str) -> Vec<Alone> {
    let of = |ways, remote| Alone { program: program.to_owned(), ways, remote };
    let fewer = xval.ways.iter().copied().collect::<BTreeSet<_>>();
    let mut runs = vec![of(None, false)];
    runs.extend(fewer.into_iter().rev().map(|ways| of(Some(ways), false)));
    runs.extend(nearest_other(spec, 0).map(|_| of(None, true)));
    runs
}

/// The other node with CPUs nearest to a node; ties to the lower one.
#[must_use]
pub fn nearest_other(spec: &Spec, home: usize) -> Option<usize> {
    let row = spec.latency.ns.get(home)?;
    let others = (0..row.len()).filter(|node| *node != home && !spec.node[*node].cpus.as_slice().is_empty());
    others.min_by(|a, b| row[*a].total_cmp(&row[*b]))
}

/// All runs, dealt out to a number of boots.
///
/// # Errors
/// A mix asks for what the machine lacks.
pub fn orders(xval: &Xval, spec: &Spec, boots: usize) -> Result<Vec<Order>, String> {
    xval.check_on(spec)?;
    let mut runs = Vec::new();
    for program in &xval.program {
        runs.extend(alone(xval, spec, &program.name).iter().map(|one| alone_run(xval, spec, one)));
    }
    runs.extend(xval.mix.iter().map(|mix| mixed(xval, spec, mix_id(&mix.name), xval.mix_seconds, &mix.of, Vec::new())));
    let longest = xval.mix_seconds.max(xval.solo_seconds);
    let limit_seconds = PATIENCE.0 * longest + PATIENCE.1;
    let dealt = |boot| runs.iter().skip(boot).step_by(boots.max(1)).cloned().collect();
    Ok((0..boots.max(1)).map(|boot| Order { modelled: true, limit_seconds, runs: dealt(boot) }).collect())
}

fn alone_run(xval: &Xval, spec: &Spec, one: &Alone) -> Run {
    let memory = one.remote.then(|| nearest_other(spec, 0)).flatten().map(num::narrow);
    let seat = Seat { program: one.program.clone(), cpu: first_cpu(spec, 0), memory };
    let mask = |ways: u32| (1u64 << ways.min(63)) - 1;
    let ways = one.ways.map(|count| Ways { llc: 0, mask: mask(count) });
    mixed(xval, spec, one.id(), xval.solo_seconds, &[seat], ways.into_iter().collect())
}

fn mixed(xval: &Xval, spec: &Spec, id: String, seconds: f64, seats: &[Seat], ways: Vec<Ways>) -> Run {
    let jobs = seats.iter().map(|seat| job(xval, spec, seat));
    Run { id, regime: Regime::default(), ways, jobs: jobs.chain([timer(spec, seconds)]).collect() }
}

fn job(xval: &Xval, spec: &Spec, seat: &Seat) -> Job {
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

/// A program without memory on the last CPU, whose end is the end of the run.
pub(crate) fn timer(spec: &Spec, seconds: f64) -> Job {
    let cpus = vec![timer_cpu(spec)];
    let argv = words(&format!("{TIMER_RUN} {seconds}"));
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
pub(crate) fn first_cpu(spec: &Spec, node: usize) -> u32 {
    spec.node.get(node).and_then(|node| node.cpus.as_slice().first()).map_or(0, |cpu| num::narrow(*cpu))
}

/// Words, the first with its path: the guest's shell has some of the same names.
fn words(command: &str) -> Vec<String> {
    let mut words: Vec<_> = command.split_whitespace().map(str::to_owned).collect();
    if let Some(first) = words.first_mut().filter(|first| !first.contains('/')) {
        *first = format!("/bin/{first}");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use numasim_lab::experiment::Scale;

    const TEXT: &str = include_str!("../xval.toml");

    #[test]
    fn every_run_is_dealt_out_once() {
        let xval = Xval::parse(TEXT, "xval.toml").unwrap();
        let spec = numasim_lab::machine::scaled(&xval.machine, xval.scale).unwrap();
        for program in &xval.program {
            let source =
                format!("{}/../../programs/{}.c", env!("CARGO_MANIFEST_DIR"), program.run.split(' ').next().unwrap());
            assert!(std::path::Path::new(&source).exists(), "{source}: no such program");
        }
        let orders = orders(&xval, &spec, 2).unwrap();
        let ids: BTreeSet<_> = orders.iter().flat_map(|order| &order.runs).map(|run| run.id.clone()).collect();
        let all = orders.iter().map(|order| order.runs.len()).sum::<usize>();
        assert_eq!(ids.len(), all);
        assert_eq!(all, xval.program.len() * (xval.ways.len() + 2) + xval.mix.len());
        assert!(orders[0].runs.len().abs_diff(orders[1].runs.len()) <= 1);
    }

    #[test]
    fn a_remote_run_is_set_up_on_the_other_node_and_a_mask_has_its_ways() {
        let xval = Xval::parse(TEXT, "xval.toml").unwrap();
        let spec = numasim_lab::machine::scaled("nehalem-2x4", Scale::default()).unwrap();
        let of = |ways, remote| Alone { program: xval.program[0].name.clone(), ways, remote };
        let remote = alone_run(&xval, &spec, &of(None, true));
        assert_eq!(
            (remote.jobs[0].setup_cpus.as_slice(), remote.jobs[0].run_cpus.as_deref()),
            (&[4][..], Some(&[0][..]))
        );
        assert!(remote.ways.is_empty() && remote.jobs[0].background && !remote.jobs[1].background);
        assert_eq!(remote.jobs[1].setup_cpus, [7]);
        assert_eq!(alone_run(&xval, &spec, &of(Some(4), false)).ways, [Ways { llc: 0, mask: 0xf }]);
    }
}
