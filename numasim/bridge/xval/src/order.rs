//! The runs of a cross-validation, distributed among boots that run side by side. In a run,
//! programs repeat their passes until the timer, a program without memory on a CPU of its own, has
//! counted the seconds. So all programs run side by side from the timer's first count to its last.
//! The runs of managed mixes are in managed/order.rs.

use crate::alone::{Alone, alone, nearest_other};
use crate::file::{Seat, Xval};
use crate::job::{first_cpu, job, timer};
use crate::managed;
use isobar_model::num;
use numasim_guest::wire::{Order, Regime, Run, Ways};
use numasim_model::Spec;

/// A run may take this many times its seconds, plus this many seconds for its set-up.
pub(crate) const PATIENCE: (f64, f64) = (3.0, 60.0);

/// The id of a mix's run.
#[must_use]
pub fn mix_id(mix: &str) -> String {
    format!("mix/{mix}")
}

/// All runs, distributed among a number of boots.
///
/// # Errors
/// A mix needs something that the machine lacks.
pub fn orders(xval: &Xval, spec: &Spec, boots: usize) -> Result<Vec<Order>, String> {
    xval.check_on(spec)?;
    let mut runs = Vec::new();
    for program in &xval.program {
        runs.extend(alone(xval, spec, &program.name).iter().map(|one| alone_run(xval, spec, one)));
    }
    runs.extend(xval.mix.iter().map(|mix| mixed(xval, spec, mix_id(&mix.name), xval.mix_seconds, &mix.of, Vec::new())));
    runs.extend(managed::order::runs(xval, spec));
    let longest =
        xval.mix_seconds.max(xval.solo_seconds).max(if xval.managed.is_empty() { 0.0 } else { xval.managed_seconds });
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

#[cfg(test)]
mod tests {
    use super::*;
    use numasim_lab::experiment::Scale;
    use std::collections::BTreeSet;

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

    /// Each mix under stock Linux and three policies, and each program alone.
    #[test]
    fn the_managed_mixes_that_ship_run_under_everything() {
        let xval = Xval::parse(include_str!("../policies.toml"), "policies.toml").unwrap();
        let spec = numasim_lab::machine::scaled(&xval.machine, xval.scale).unwrap();
        let orders = orders(&xval, &spec, 1).unwrap();
        let managed = orders[0].runs.iter().filter(|run| run.id.starts_with("managed/")).count();
        assert_eq!((xval.mix.len(), managed), (0, 4 * xval.managed.len()));
        assert_eq!(orders[0].runs.len(), managed + xval.program.len() * (xval.ways.len() + 2));
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
