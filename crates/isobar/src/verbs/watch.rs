//! What `manage` and `explain` share: from what was typed and configured to what is needed, and the machine it runs on.

use crate::adapt::{linux, policy, sim};
use crate::args::WatchArgs;
use crate::config::{self, Config, DEFAULT_INTERVAL_SECONDS, ManageConfig};
use crate::failure::{self, bad_input};
use crate::harness::{self, CgroupOf, Context, Limits, Reporter};
use crate::on_purpose;
use crate::output::Queue;
use crate::report::{Profiles, WallClock};
use crate::select::{Pattern, Rules};
use crate::signals::StopFlag;
use crate::text::plural;
use crate::truth::Truth;
use isobar_model::{Machine, Pid, Policy, Sample, Seconds, Sensor};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that the loop needs, checked; nothing is opened yet.
pub struct Needed {
    policy: Box<dyn Policy>,
    config: ManageConfig,
    target: Target,
    rules: Rules,
    /// How long and how.
    pub limits: Limits,
    /// Where to what the policy learns of programs is written at the end.
    pub profiles: Option<Profiles>,
    /// Whether a missing sensor also ends a dry run.
    pub refuse_in_dry_run: bool,
}

/// The machine to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Linux,
    Sim { workload: PathBuf, seed: u64 },
}

impl Needed {
    /// Reads the configuration and builds the policy; the command line wins.
    ///
    /// # Errors
    /// Bad input.
    pub fn from_args(args: &WatchArgs) -> anyhow::Result<Self> {
        let mut config = Config::load(args.config.as_deref(), &args.set)?;
        config.manage.interval_seconds = args.interval.or(config.manage.interval_seconds);
        if !args.only.is_empty() {
            config::named("--only", &args.only).map_err(bad_input)?;
            config.manage.only.clone_from(&args.only);
        }
        let name = args.policy.clone().or_else(|| config.manage.policy.clone()).ok_or_else(no_policy)?;
        let policy = on_purpose::perhaps(policy::build(&name, &config)?);
        let target = Target::parse(args.machine.as_deref(), args.seed)?;
        Ok(Self {
            policy,
            rules: rules(&config.manage, &target),
            target,
            limits: Limits {
                interval: Seconds(config.manage.interval_seconds.unwrap_or(DEFAULT_INTERVAL_SECONDS)),
                duration: None,
                epochs: None,
                dry_run: false,
            },
            config: config.manage,
            profiles: None,
            refuse_in_dry_run: false,
        })
    }

    /// Whether the output is worth waiting for: a simulated machine stands still meanwhile, and `explain` (which alone counts
    /// epochs) has nothing to put back.
    fn can_wait(&self) -> bool {
        self.target != Target::Linux || self.limits.epochs.is_some()
    }

    /// The clock that stamps what is told; a simulated machine has none.
    pub fn clock(&self) -> WallClock {
        match self.target {
            Target::Linux => WallClock::system(),
            Target::Sim { .. } => WallClock::none(),
        }
    }
}

/// How a notice of dropped lines is put, for programs or people.
pub fn notice(json: bool) -> fn(u64) -> String {
    if json {
        |lines| serde_json::json!({ "dropped_lines": lines }).to_string()
    } else {
        |lines| format!("isobar: {}", dropped(lines))
    }
}

fn dropped(lines: u64) -> String {
    format!("{} of output dropped: the reader did not keep up", plural(lines, "line"))
}

/// Writes what is still queued, when everything is put back; a reader that does not read is given up after a while.
///
/// # Errors
/// What went wrong before, else what went wrong with standard output.
pub fn finish(done: anyhow::Result<()>, queue: Queue) -> anyhow::Result<()> {
    let drained = queue.finish();
    done?;
    let left = drained?;
    if left > 0 {
        failure::tell(&dropped(left));
    }
    Ok(())
}

fn no_policy() -> anyhow::Error {
    let known = policy::names().join(", ");
    bad_input(format!("no policy: expected --policy NAME, or `policy` in the section [manage]; there are {known}"))
}

impl Target {
    fn parse(text: Option<&str>, seed: u64) -> anyhow::Result<Self> {
        match text.map(|text| text.strip_prefix("sim:").ok_or(text)) {
            None => Ok(Self::Linux),
            Some(Ok(file)) if !file.is_empty() => Ok(Self::Sim { workload: file.into(), seed }),
            Some(Ok(text) | Err(text)) => {
                Err(bad_input(format!("--machine {text}: expected sim:FILE, such as sim:workload.toml")))
            }
        }
    }
}

fn rules(config: &ManageConfig, target: &Target) -> Rules {
    let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::parse(text)).collect();
    // A simulated process may have our number by chance.
    let never = if *target == Target::Linux { BTreeSet::from([Pid(std::process::id())]) } else { BTreeSet::new() };
    Rules {
        only: patterns(&config.only),
        ignore: patterns(&config.ignore),
        never,
        min_share: config.min_cpu_percent / 100.0,
        max_threads: usize::try_from(config.max_threads).unwrap_or(usize::MAX),
    }
}

/// Opens the machine and runs the loop.
///
/// # Errors
/// As [`harness::run`], and where the machine cannot be opened.
pub fn drive(mut needed: Needed, queue: &Queue, reporter: &mut dyn Reporter) -> anyhow::Result<()> {
    // Before anything is opened: a signal must find the loop, which puts back, and not the default action.
    let changed = linux::Changed::default();
    let patience = Duration::from_secs_f64(needed.config.stop_seconds);
    let left = changed.clone();
    let stop = StopFlag::install_patient(&linux::stop_signals(), patience, move || left.in_words())?;
    if needed.can_wait() {
        let stopped = stop.clone();
        queue.wait_for_the_reader(move || stopped.is_raised());
    }
    match needed.target.clone() {
        Target::Linux => {
            long_enough(needed.limits)?;
            let (machine, recovered) = linux::open(&needed.config, needed.limits.dry_run)?;
            changed.watch(&machine, &needed.config);
            let around = Around {
                cgroup: &linux::cgroup_of,
                own_cpu: Some(&linux::own_cpu_time),
                recovered,
                truth: &|_| None,
                remarks: &linux::put_back_remarks,
            };
            over(machine, needed, &stop, around, reporter)
        }
        Target::Sim { workload, seed } => {
            let workload = sim::read(&workload)?;
            let machine = sim::open(&workload, seed);
            needed.limits.interval = needed.config.interval_seconds.map_or_else(|| machine.epoch(), Seconds);
            long_enough(needed.limits)?;
            let truth = |machine: &_| Some(sim::truth(&workload, machine));
            // What the simulator costs is not the cost of watching, and would differ from run to run.
            let around =
                Around { cgroup: &|_| None, own_cpu: None, recovered: None, truth: &truth, remarks: &|_| Vec::new() };
            over(machine, needed, &stop, around, reporter)
        }
    }
}

/// A run that ends before its first decision would watch in vain.
fn long_enough(limits: Limits) -> anyhow::Result<()> {
    let interval = limits.interval.0;
    match limits.duration.filter(|duration| duration.0 < interval) {
        Some(Seconds(duration)) => Err(bad_input(format!(
            "--for {duration}: shorter than the interval of {interval} s, so nothing would be decided: give --for {interval} \
             or more, or a shorter --interval"
        ))),
        None => Ok(()),
    }
}

/// What differs from machine to machine.
struct Around<'a, M> {
    cgroup: CgroupOf<'a>,
    own_cpu: Option<&'a dyn Fn() -> Seconds>,
    recovered: Option<String>,
    truth: &'a dyn Fn(&M) -> Option<Truth>,
    /// What a person should look at after everything was put back.
    remarks: &'a dyn Fn(&M) -> Vec<String>,
}

fn over<M: Machine>(
    mut machine: M,
    needed: Needed,
    stop: &StopFlag,
    around: Around<'_, M>,
    reporter: &mut dyn Reporter,
) -> anyhow::Result<()> {
    let Needed { mut policy, rules, limits, profiles, refuse_in_dry_run, .. } = needed;
    let name = policy.name();
    let strict = !limits.dry_run || refuse_in_dry_run;
    let refusal = |lacking: &[(Sensor, &str)], sample: &Sample| {
        policy::refusal(name, lacking, &sample.capabilities).filter(|_| strict)
    };
    let Around { cgroup, own_cpu, recovered, truth, remarks } = around;
    let context = Context { rules, cgroup, refusal: &refusal, stop: &|| stop.is_raised(), own_cpu, recovered };
    let ended = harness::run(&mut machine, policy.as_mut(), &context, limits, reporter);
    let remarks = remarks(&machine);
    if ended.is_err() {
        // The report's end is not written then.
        remarks.iter().for_each(|remark| failure::tell(&format!("remark: {remark}")));
    }
    let mut tally = ended?;
    tally.remarks = remarks;
    reporter.end(&tally, truth(&machine).as_ref())?;
    profiles.map_or(Ok(()), |profiles| profiles.write(&policy.learnt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_this_one_or_a_simulated_one() {
        assert_eq!(Target::parse(None, 1).unwrap(), Target::Linux);
        let sim = Target::Sim { workload: "a.toml".into(), seed: 7 };
        assert_eq!(Target::parse(Some("sim:a.toml"), 7).unwrap(), sim);
        for wrong in ["sim:", "a.toml", ""] {
            assert!(Target::parse(Some(wrong), 1).unwrap_err().to_string().contains("expected sim:FILE"));
        }
    }

    #[test]
    fn the_tool_itself_is_never_managed_and_a_simulated_namesake_is() {
        let config = ManageConfig::default();
        assert!(rules(&config, &Target::Linux).never.contains(&Pid(std::process::id())));
        assert!(rules(&config, &Target::Sim { workload: "a".into(), seed: 1 }).never.is_empty());
    }

    #[test]
    fn a_notice_is_a_line_for_people_or_a_document_for_programs() {
        assert_eq!(notice(false)(12), "isobar: 12 lines of output dropped: the reader did not keep up");
        assert_eq!(notice(false)(1), "isobar: 1 line of output dropped: the reader did not keep up");
        assert_eq!(notice(true)(12), r#"{"dropped_lines":12}"#);
    }
}
