//! The runs of the managed mixes: each mix under stock Linux and under each policy.

use crate::file::{Mix, Xval};
use crate::job::{job, timer};
use crate::regime::{EPOCH_SECONDS, Regime};
use numasim_guest::wire::{self, Daemon, Job, Run};
use numasim_model::Spec;
use std::collections::BTreeMap;

/// The package that carries out a policy; its program in the guest has the same name.
pub const PACKAGE: &str = "isobar";
/// The path of its configuration in the guest.
const CONFIG: &str = "/etc/isobar.toml";

/// The id of the run of a mix under a regime.
#[must_use]
pub fn id(mix: &Mix, regime: Regime<'_>) -> String {
    format!("managed/{}/{}", regime.name(), mix.name)
}

/// The runs of all managed mixes.
#[must_use]
pub fn runs(xval: &Xval, spec: &Spec) -> Vec<Run> {
    let of = |mix| Regime::all(&xval.policies).map(move |regime| run(xval, spec, mix, regime));
    xval.managed.iter().flat_map(of).collect()
}

fn run(xval: &Xval, spec: &Spec, mix: &Mix, regime: Regime<'_>) -> Run {
    let jobs = mix.of.iter().map(|seat| {
        let job = job(xval, spec, seat);
        Job { begin_cpus: job.run_cpus, run_cpus: None, ..job }
    });
    let regime_in_guest = match regime {
        Regime::Linux => wire::Regime { numa_balancing: true, ..wire::Regime::default() },
        Regime::Policy(name) => wire::Regime { daemon: Some(daemon(xval, mix, name)), ..wire::Regime::default() },
    };
    Run {
        id: id(mix, regime),
        regime: regime_in_guest,
        ways: Vec::new(),
        jobs: jobs.chain([timer(spec, xval.managed_seconds)]).collect(),
    }
}

/// isobar with a policy, managing the programs of a mix.
fn daemon(xval: &Xval, mix: &Mix, policy: &str) -> Daemon {
    let command = format!("{PACKAGE} manage --json --config {CONFIG} --policy {policy} --interval {EPOCH_SECONDS}");
    let programs = xval.program.iter().filter(|program| mix.of.iter().any(|seat| seat.program == program.name));
    let only: Vec<String> = programs.map(|program| format!("{:?}", program.command())).collect();
    let settings = format!("[manage]\ncounters = \"numasim\"\nways = \"numasim\"\nonly = [{}]\n", only.join(", "));
    Daemon {
        argv: command.split(' ').map(str::to_owned).collect(),
        files: BTreeMap::from([(CONFIG.to_owned(), settings)]),
        ..Daemon::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numasim_lab::experiment::Scale;

    const TEXT: &str = "name = \"x\"\nmachine = \"nehalem-2x4\"\nsolo_seconds = 1.0\nmix_seconds = 2.0\nways = [8]\n\
                        managed_seconds = 3.0\npolicies = [\"dino\"]\n\
                        [[program]]\nname = \"a\"\nrun = \"chase --work 9\"\n\
                        [[managed]]\nname = \"far\"\nof = [\"a@4:0\"]\n";

    /// The program is set up on node 0, begins on CPU 4, and is then free. The timer stays on the
    /// last CPU.
    #[test]
    fn a_program_begins_on_its_cpu_and_is_free_then() {
        let xval = Xval::parse(TEXT, "x.toml").unwrap();
        let spec = numasim_lab::machine::scaled("nehalem-2x4", Scale::default()).unwrap();
        let runs = runs(&xval, &spec);
        let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids, ["managed/linux/far", "managed/dino/far"]);
        for run in &runs {
            let [job, timer] = run.jobs.as_slice() else { panic!("{run:?}") };
            assert_eq!((job.setup_cpus.as_slice(), job.begin_cpus.as_deref()), (&[0][..], Some(&[4][..])));
            assert_eq!((job.run_cpus.as_deref(), timer.run_cpus.as_deref()), (None, Some(&[7][..])));
            assert_eq!(timer.argv.last().map(String::as_str), Some("3"));
        }
        assert!(runs[0].regime.numa_balancing && runs[0].regime.daemon.is_none());
        let (balancing, daemon) = (runs[1].regime.numa_balancing, runs[1].regime.daemon.as_ref().unwrap());
        assert!(!balancing && daemon.argv.windows(2).any(|pair| pair == ["--policy", "dino"]), "{daemon:?}");
        assert!(daemon.files[CONFIG].contains("only = [\"chase\"]"), "{daemon:?}");
    }
}
