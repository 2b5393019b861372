//! Commands the loop of a daemon: handles requests from the socket, reloads, and notifications to
//! the service manager, which must come from the loop itself.

use super::recordings::Current;
use super::reload::{self, Fresh, InForce};
use super::standing;
use crate::daemon::{self, Call, Log, Service, waiting};
use crate::machines::adjust::Adjust;
use crate::machines::linux::Changed;
use crate::metrics::LatestMetrics;
use crate::report::{Priority, outcome_in_words};
use crate::signals::StopFlag;
use crate::verbs::watch::{RecordingTemplate, WatchArgs};
use isobar_control::{Answer, Request, Status};
use isobar_model::{ActionId, ActionOutcome, Machine, Policy, Sample, Seconds};
use isobar_runtime::{Commander, Loop, Undone, in_full};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

/// Runs beside the loop.
pub struct DaemonCommander {
    /// Requests from clients.
    pub calls: Receiver<Call>,
    /// Whether a signal asked to stop.
    pub stop: StopFlag,
    /// Whether a reload was requested.
    pub reload: Arc<AtomicBool>,
    /// The service manager that started us.
    pub service: Rc<RefCell<Service>>,
    /// Where to report what was done.
    pub log: Log,
    /// The command-line arguments as typed, with which the configuration is read again.
    pub args: WatchArgs,
    /// The configuration that is in force.
    pub in_force: InForce,
    /// The interval between decisions if the configuration names none.
    pub usual_interval: Seconds,
    /// What is changed on the machine now.
    pub changed: Changed,
    /// The metrics endpoint, if there is one. It judges the health of the loop by the interval.
    pub exposed: Option<Arc<LatestMetrics>>,
    /// The recording, if there is one.
    pub recording: Option<Current>,
    /// The parts of a status that stay the same.
    pub about: Status,
}

impl<M: Machine + Adjust> Commander<M> for DaemonCommander {
    fn command(&mut self, run: &mut Loop<'_, M>) {
        if self.stop.is_raised() {
            return self.service.borrow_mut().stopping();
        }
        self.service.borrow_mut().alive();
        self.service.borrow_mut().status(|| brief(run));
        self.notice_end_of_recording();
        if self.reload.swap(false, Ordering::SeqCst) {
            self.service.borrow().reloading();
            self.read_again(run);
            self.service.borrow().ready();
        }
        for call in waiting(&self.calls) {
            let answer = self.answer(run, &call.request);
            call.answer(answer);
        }
    }
}

impl DaemonCommander {
    fn answer<M: Machine>(&self, run: &mut Loop<'_, M>, request: &Request) -> Answer {
        let done = |words: String| Answer::Done { words };
        match request {
            Request::Status {} => {
                let about = Status { changed_now: self.changed.count(), ..self.about.clone() };
                Answer::Status { status: Box::new(standing::status(run, about)) }
            }
            Request::Pause {} => {
                let before = run.is_paused();
                run.pause(true);
                done(
                    if before {
                        "already paused"
                    } else {
                        "paused: isobar keeps watching, and its earlier changes stay in effect"
                    }
                    .to_owned(),
                )
            }
            Request::Resume {} => {
                let before = run.is_paused();
                run.pause(false);
                done(if before { "resumed: isobar decides again" } else { "it was not paused" }.to_owned())
            }
            Request::Undo { id } => match run.undo(ActionId(*id)) {
                Ok(undone) => done(format!("action {id} is taken back: {}", became(&undone))),
                Err(why) => Answer::Refused { why: why.to_string() },
            },
        }
    }

    /// Reports once that the recording has ended early.
    fn notice_end_of_recording(&mut self) {
        if let Some(why) = self.recording.as_ref().and_then(Current::why_ended) {
            let line = format!("the recording ended early, and isobar continues without it: {why}");
            self.recording = None;
            self.about.recording = None;
            self.warn(line);
        }
    }

    /// Goes on recording in a new file, because another policy decides now.
    fn record_anew(&mut self, template: &RecordingTemplate, latest: &Sample, number: u64) {
        let Some(current) = &mut self.recording else { return };
        match current.renew(template, &self.in_force.config.daemon, latest, number) {
            Ok(()) => {
                self.about.recording = Some(current.file().display().to_string());
                if let Some(exposed) = &self.exposed {
                    exposed.records_to(current.file());
                }
            }
            Err(why) => self.warn(format!(
                "no new recording for the new policy; its decisions go into the old one, which has the old settings: {why:#}"
            )),
        }
    }

    fn warn(&mut self, line: String) {
        self.log.say(Priority::Warning, line.clone());
        if !self.about.remarks.contains(&line) {
            self.about.remarks.push(line);
        }
    }

    fn read_again<M: Machine + Adjust>(&mut self, run: &mut Loop<'_, M>) {
        let fresh = reload::read(&self.args, daemon::config(), &self.in_force, run.policy().name(), &self.stop);
        match fresh.and_then(|fresh| self.take(run, fresh)) {
            Ok(later) => {
                self.about.reload_refused = None;
                let later = match &later[..] {
                    [] => String::new(),
                    keys => format!("; takes effect only at the next start: {}", keys.join(", ")),
                };
                let file = self.about.config.as_deref().unwrap_or("no configuration file");
                let (policy, interval) = (in_words(run.policy()), run.interval().0);
                self.log.say(Priority::Notice, format!("reloaded: {file}: policy {policy}, every {interval} s{later}"));
            }
            Err(why) => {
                let why = in_full(why.as_ref());
                self.log
                    .say(Priority::Error, format!("reload refused, and the old configuration stays in effect: {why}"));
                self.about.reload_refused = Some(why);
            }
        }
    }

    /// Applies a valid configuration. The record of changed threads is kept.
    fn take<M: Machine + Adjust>(&mut self, run: &mut Loop<'_, M>, fresh: Fresh) -> anyhow::Result<Vec<&'static str>> {
        let Fresh { mut needed, decides_otherwise, in_force, later } = fresh;
        run.could_decide(needed.policy.as_ref())?;
        run.machine_mut().adjust(&needed.config, needed.policy.as_ref());
        let interval = needed.config.interval_seconds.map_or(self.usual_interval, Seconds);
        (needed.limits.interval, needed.limits.dry_run) = (interval, self.about.dry_run);
        let template = needed.recording_template();
        if decides_otherwise {
            run.decide_by(needed.policy)?;
            let number = run.tally().epochs;
            self.record_anew(&template, run.begin()?.sample, number);
        }
        run.go_on_with(interval, needed.rules);
        if let Some(exposed) = &self.exposed {
            exposed.every(interval);
        }
        self.about.config = in_force.file.as_ref().map(|file| file.display().to_string());
        self.in_force = in_force;
        Ok(later)
    }
}

fn became(undone: &Undone) -> String {
    match &undone.outcome {
        ActionOutcome::Done => "the old state is restored".to_owned(),
        other => outcome_in_words(Some(other)),
    }
}

/// The name of a policy, with the policies of groups.
fn in_words(policy: &dyn Policy) -> String {
    let groups = policy.groups();
    let beside: String = groups.iter().map(|one| format!(", {} for {}", one.policy, one.group)).collect();
    format!("{}{beside}", policy.name())
}

/// One line for the service manager.
fn brief<M: Machine>(run: &Loop<'_, M>) -> String {
    let (tally, paused) = (run.tally(), if run.is_paused() { ", paused" } else { "" });
    let policy = run.policy().name();
    format!(
        "policy {policy}{paused}: {} decisions, {} actions, {} threads moved",
        tally.epochs, tally.planned, tally.moves
    )
}
