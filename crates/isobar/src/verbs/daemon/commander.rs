//! What commands the loop of a daemon: requests from the socket, a reload, and the service manager,
//! which hears from the loop itself that it is alive.

use super::reload::{self, Fresh};
use super::standing;
use crate::daemon::{Call, Log, Service};
use crate::machines::adjust::Adjust;
use crate::machines::linux::Changed;
use crate::metrics::Handed;
use crate::record::Ended;
use crate::report::{Priority, outcome_in_words};
use crate::signals::StopFlag;
use crate::verbs::watch::WatchArgs;
use isobar_control::{Answer, Request, Status};
use isobar_model::{ActionId, ActionOutcome, Machine, Policy, Seconds};
use isobar_runtime::settings::Config;
use isobar_runtime::{Commander, Loop, Undone, in_full};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

/// Sits beside the loop.
pub struct Desk {
    /// Requests.
    pub calls: Receiver<Call>,
    /// Whether a signal asked to stop.
    pub stop: StopFlag,
    /// Whether a reload is asked for.
    pub reload: Arc<AtomicBool>,
    /// Who started us.
    pub service: Rc<RefCell<Service>>,
    /// Where to say what was done.
    pub log: Log,
    /// What was typed, with the configuration that is read again.
    pub args: WatchArgs,
    /// What was read last and holds.
    pub config: Config,
    /// From decision to decision, where the configuration does not say.
    pub usual_interval: Seconds,
    /// What is changed now.
    pub changed: Changed,
    /// The metrics endpoint, where there is one: how long an epoch may take is its measure of
    /// health.
    pub exposed: Option<Arc<Handed>>,
    /// Why the recording ended early, where there is one and it did.
    pub recording_ended: Ended,
    /// What of a status stays the same.
    pub about: Status,
}

impl<M: Machine + Adjust> Commander<M> for Desk {
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
        while let Ok(call) = self.calls.try_recv() {
            let answer = self.answer(run, &call.request);
            call.answer(answer);
        }
    }
}

impl Desk {
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
                        "it was paused already"
                    } else {
                        "paused: it goes on watching, and what is changed stays"
                    }
                    .to_owned(),
                )
            }
            Request::Resume {} => {
                let before = run.is_paused();
                run.pause(false);
                done(if before { "it decides again" } else { "it was not paused" }.to_owned())
            }
            Request::Undo { id } => match run.undo(ActionId(*id)) {
                Ok(undone) => done(format!("action {id} is taken back: {}", became(&undone))),
                Err(why) => Answer::Refused { why: why.to_string() },
            },
        }
    }

    /// Once: it is no recording any more.
    fn notice_end_of_recording(&mut self) {
        if let Some(why) = self.recording_ended.why()
            && self.about.recording.take().is_some()
        {
            let line = format!("the recording ended early, the rest goes on: {why}");
            self.log.say(Priority::Warning, line.clone());
            self.about.remarks.push(line);
        }
    }

    fn read_again<M: Machine + Adjust>(&mut self, run: &mut Loop<'_, M>) {
        let file = self.about.config.clone().unwrap_or_else(|| "no configuration file".to_owned());
        match reload::read(&self.args, &self.config, run.policy().name()).and_then(|fresh| self.take(run, fresh)) {
            Ok(later) => {
                self.about.reload_refused = None;
                let later = match &later[..] {
                    [] => String::new(),
                    keys => format!("; from the next start on only: {}", keys.join(", ")),
                };
                let (policy, interval) = (in_words(run.policy()), run.interval().0);
                self.log.say(Priority::Notice, format!("reloaded: {file}: policy {policy}, every {interval} s{later}"));
            }
            Err(why) => {
                let why = in_full(why.as_ref());
                self.log.say(Priority::Error, format!("reload refused, nothing is changed: {why}"));
                self.about.reload_refused = Some(why);
            }
        }
    }

    /// Puts a good configuration in place; what is changed of threads stays on record.
    fn take<M: Machine + Adjust>(&mut self, run: &mut Loop<'_, M>, fresh: Fresh) -> anyhow::Result<Vec<&'static str>> {
        let Fresh { needed, decides_otherwise, later } = fresh;
        run.could_decide(needed.policy.as_ref())?;
        run.machine_mut().adjust(&needed.config, needed.policy.as_ref());
        if decides_otherwise {
            run.decide_by(needed.policy)?;
        }
        let interval = needed.config.interval_seconds.map_or(self.usual_interval, Seconds);
        run.go_on_with(interval, needed.rules);
        if let Some(exposed) = &self.exposed {
            exposed.every(interval);
        }
        self.config = needed.whole;
        Ok(later)
    }
}

fn became(undone: &Undone) -> String {
    match &undone.outcome {
        ActionOutcome::Done => "it is as it was before".to_owned(),
        other => format!("back go {}", outcome_in_words(Some(other))),
    }
}

/// A policy with those of groups beside it.
fn in_words(policy: &dyn Policy) -> String {
    let groups = policy.groups();
    let beside: String = groups.iter().map(|one| format!(", {} for {}", one.policy, one.group)).collect();
    format!("{}{beside}", policy.name())
}

/// A line for the service manager.
fn brief<M: Machine>(run: &Loop<'_, M>) -> String {
    let (tally, paused) = (run.tally(), if run.is_paused() { ", paused" } else { "" });
    let policy = run.policy().name();
    format!(
        "policy {policy}{paused}: {} decisions, {} actions, {} threads moved",
        tally.epochs, tally.planned, tally.moves
    )
}
