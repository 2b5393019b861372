//! Runs a daemon from start to end: the machine, the loop, and what runs beside the loop.

use super::commander::DaemonCommander;
use super::recordings::{self, Current};
use super::reload::{self, InForce};
use super::{Daemon, WATCHING};
use crate::daemon::{self, Log, Server, Service, switchboard};
use crate::failure::bad_input;
use crate::machines::adjust::Adjust;
use crate::machines::paced::Paced;
use crate::machines::{linux, simulated};
use crate::metrics::Exposer;
use crate::record::Recording;
use crate::report::{AfterRun, Journal, Priority};
use crate::signals::StopFlag;
use crate::verbs::watch::{self, Needed, Target, WatchArgs};
use anyhow::Context;
use isobar_control::Status;
use isobar_model::{Machine, Seconds};
use isobar_runtime::settings::DEFAULT_INTERVAL_SECONDS;
use isobar_runtime::{Loop, Surroundings};
use isobar_sim::SimMachine;
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Runs until a signal asks to stop, or a simulated workload ends.
///
/// # Errors
/// Bad input; or the machine cannot be opened, the socket cannot be created, or something cannot be
/// put back.
pub fn run(args: &Daemon) -> anyhow::Result<()> {
    let watch = reload::with_file(&args.watch, daemon::config());
    let mut needed = Needed::from_args_or(&watch, Some(WATCHING), StopFlag::default())?;
    needed.limits.dry_run = args.dry_run;
    needed.limits.despite_missing = args.dry_run;
    needed.config.state_file.get_or_insert_with(daemon::state_file);
    let changed = linux::Changed::default();
    let left = changed.clone();
    let signals: Vec<_> = linux::stop_signals().into_iter().filter(|signal| *signal != SIGHUP).collect();
    let stop = needed.stops_on(&signals, move || left.in_words())?;
    let log = Log::start().context("the log")?;
    let beside = Beside { args, watch: &watch, log: log.clone(), changed, stop };
    let done = beside.open(needed);
    log.flush();
    done
}

/// What runs beside the loop.
struct Beside<'a> {
    args: &'a Daemon,
    watch: &'a WatchArgs,
    log: Log,
    changed: linux::Changed,
    stop: StopFlag,
}

impl Beside<'_> {
    fn open(&self, mut needed: Needed) -> anyhow::Result<()> {
        match needed.target.clone() {
            Target::Linux => {
                let (machine, recovered) = linux::open_for_daemon(&needed.config, needed.limits.dry_run)?;
                let machine = linux::switched_on(machine, &*needed.policy);
                self.changed.watch(&machine, &needed.config);
                let stop = || self.stop.is_raised();
                let own_cpu = Some(&linux::own_cpu_time as &dyn Fn() -> Seconds);
                let surroundings = Surroundings {
                    lookups: linux::LOOKUPS,
                    stop: &stop,
                    own_cpu,
                    recovered,
                    ..Surroundings::default()
                };
                self.serve((machine, Seconds(DEFAULT_INTERVAL_SECONDS)), needed, surroundings, |machine| AfterRun {
                    remarks: linux::put_back_remarks(machine),
                    ..AfterRun::default()
                })
            }
            Target::Sim { workload, seed } => {
                let workload = simulated::read(&workload)?;
                let machine = SimMachine::new(&workload, seed).probing_for(needed.policy.needs());
                let usual = machine.epoch();
                needed.limits.interval = needed.config.interval_seconds.map_or(usual, Seconds);
                let flag = self.stop.clone();
                let machine = Paced::new(machine, self.args.speed, move || flag.is_raised());
                self.serve((machine, usual), needed, Surroundings::default(), |_| AfterRun::default())
            }
            Target::Recording(file) => Err(bad_input(format!(
                "--machine {}: a recording cannot be managed: expected sim:FILE, or this machine without --machine",
                file.display()
            ))),
        }
    }

    fn serve<M: Machine + Adjust>(
        &self,
        (machine, usual_interval): (M, Seconds),
        needed: Needed,
        surroundings: Surroundings<'_>,
        after_run: impl Fn(&M) -> AfterRun,
    ) -> anyhow::Result<()> {
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::from(machine.caller().unwrap_or_else(|| Box::new(|| ())));
        let service = Rc::new(RefCell::new(Service::new()));
        service.borrow().pulse(Arc::clone(&wake)).context("the watchdog")?;
        let mut about = self.about(&needed);
        let (board, calls) = switchboard(Arc::clone(&wake));
        let reload = Arc::new(AtomicBool::new(false));
        heed_hangup(Arc::clone(&reload), wake).context("SIGHUP")?;
        let mut exposer = needed.expose()?;
        exposer.iter().for_each(|exposer| self.announce(exposer));
        let configured = self.args.socket.as_deref().or(needed.whole.daemon.socket.as_deref());
        let socket = daemon::socket(configured);
        let server = Server::start(&socket, &needed.whole.daemon.group, board, &self.log)?;
        // Last, because each recording makes an earlier one go: a daemon that cannot start keeps
        // all.
        let mut recording = self.recording(&needed, &mut about);
        let (exposed, current) = (exposer.as_ref().map(Exposer::latest), recording.as_mut().map(Current::of));
        if let (Some(exposed), Some(current)) = (&exposed, &current) {
            exposed.records_to(current.file());
        }
        let commander = DaemonCommander {
            calls,
            stop: self.stop.clone(),
            reload,
            service: Rc::clone(&service),
            log: self.log.clone(),
            args: self.args.watch.clone(),
            in_force: InForce::at_start(&needed, self.watch.config.clone()),
            usual_interval,
            changed: self.changed.clone(),
            exposed,
            recording: current,
            about,
        };
        let ready = || {
            self.log.say(Priority::Notice, format!("ready: {}", socket.display()));
            service.borrow().ready();
        };
        let say = |priority, message, fields| self.log.say_with(priority, message, fields);
        let Needed { policy, rules, limits, .. } = needed;
        let run = Loop::new(machine, policy, limits).selecting(rules).within(surroundings);
        let mut run = run.commanded_by(Box::new(commander));
        let mut journal = Journal::new(&say, &ready);
        let ended = match &mut exposer {
            Some(exposer) => {
                exposer.every(limits.interval);
                let lost = || self.log.lost_lines();
                watch::shown(&mut run, &mut exposer.beside(&mut journal, &lost), recording, after_run)
            }
            None => watch::shown(&mut run, &mut journal, recording, after_run),
        };
        service.borrow_mut().stopping();
        drop(server);
        if let Err(why) = ended? {
            self.log.say(Priority::Warning, format!("the recording ended early: {why}"));
        }
        Ok(())
    }

    /// Logs where the metrics are; a warning if other machines can read them.
    fn announce(&self, exposer: &Exposer) {
        let priority = if exposer.is_open() { Priority::Warning } else { Priority::Notice };
        self.log.say(priority, exposer.in_words());
    }

    /// Starts the recording, if one is wanted. If that fails, the daemon manages without it.
    fn recording(&self, needed: &Needed, about: &mut Status) -> Option<Recording> {
        let config = &needed.whole.daemon;
        if !config.record {
            return None;
        }
        match recordings::start(&needed.recording_template(), config, None) {
            Ok(recording) => {
                about.recording = Some(recording.file().display().to_string());
                Some(recording)
            }
            Err(why) => {
                let line = format!("nothing is recorded: {why:#}");
                self.log.say(Priority::Warning, line.clone());
                about.remarks.push(line);
                None
            }
        }
    }

    fn about(&self, needed: &Needed) -> Status {
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            machine: self.watch.machine.clone().unwrap_or_else(|| "this machine".to_owned()),
            dry_run: needed.limits.dry_run,
            config: self.watch.config.as_ref().map(|file| file.display().to_string()),
            ..Status::default()
        }
    }
}

/// Lets SIGHUP request a reload and wake the loop.
fn heed_hangup(reload: Arc<AtomicBool>, wake: Arc<dyn Fn() + Send + Sync>) -> std::io::Result<()> {
    let mut hangups = Signals::new([SIGHUP])?;
    let work = move || {
        for _ in hangups.forever() {
            reload.store(true, Ordering::SeqCst);
            wake();
        }
    };
    thread::Builder::new().name("hangup".into()).spawn(work).map(drop)
}
