//! Runs the command, and passes it the decisions as they change.

use super::manager::Manager;
use super::plan::Plan;
use super::source::Source;
use super::{By, Run};
use crate::failure::notify;
use crate::machines::launch::{self, Decision, Launch, LaunchError, PAGE, SharedPage, Way, Weights};
use crate::verbs::passing;
use std::ffi::OsString;
use std::io;

const PRELOAD: &str = "LD_PRELOAD";

/// Runs the command to its end. Returns its exit code.
///
/// # Errors
/// Why it could not be started, or a failure to put something back.
pub fn run(typed: &Run, plan: &Plan) -> anyhow::Result<u8> {
    // Called before the command starts, so that no signal is lost.
    let mut signals = passing::signals()?;
    let (mut source, first) = typed.decision.as_deref().map(Source::open).transpose()?.unzip();
    let mut follower = Follower::open(plan.by, typed.decision.is_some())?;
    if let Some(first) = first {
        follower.say(&first)?;
    }
    let mut child = match launch::start(&what(typed, plan, &follower)) {
        Ok(child) => child,
        Err(LaunchError::Command { command, source }) => {
            notify(&format!("{command}: {source}"));
            follower.end()?;
            return Ok(launch::exit_code(&source));
        }
        Err(error) => return Err(error.into()),
    };
    let manager = match (&typed.policy, plan.by, launch::is_managed()) {
        (Some(policy), Some(By::Shim), false) => Some(Manager::start(policy, child.id())),
        _ => None,
    };
    let mut manager = match manager.transpose() {
        Ok(manager) => manager,
        Err(error) => {
            notify(&format!("no manager for the command, so the kernel places its new pages as usual: {error}"));
            None
        }
    };
    let status = passing::wait(&mut child, &mut signals, || {
        if manager.as_mut().is_some_and(Manager::has_ended) {
            notify("the manager of the command has ended: the kernel places its new pages as usual");
            manager = None;
        }
        if let Some(decision) = source.as_mut().and_then(Source::changed)
            && let Err(error) = follower.say(&decision)
        {
            notify(&error.to_string());
        }
    });
    drop(manager);
    follower.end()?;
    Ok(passing::code(status?))
}

/// Which processes follow decisions, and how.
enum Follower {
    Nobody,
    Page(SharedPage),
    Weights(Box<Weights>),
}

impl Follower {
    fn open(by: Option<By>, from_file: bool) -> anyhow::Result<Self> {
        let way = if from_file { Way::File } else { Way::Shim };
        Ok(match by {
            None => Self::Nobody,
            Some(By::Shim) => Self::Page({
                launch::become_ordinary()?;
                SharedPage::create(way).map_err(io::Error::from)?
            }),
            Some(By::Weights) => Self::Weights(Box::new(Weights::take()?)),
        })
    }

    fn say(&mut self, decision: &Decision) -> anyhow::Result<()> {
        match self {
            Self::Nobody => Ok(()),
            Self::Page(page) => {
                page.say(*decision);
                Ok(())
            }
            Self::Weights(weights) => weights.set(decision),
        }
    }

    /// Puts back what was changed on the machine.
    fn end(&mut self) -> anyhow::Result<()> {
        if let Self::Weights(weights) = self { weights.put_back() } else { Ok(()) }
    }
}

fn what(typed: &Run, plan: &Plan, follower: &Follower) -> Launch {
    let mut environment = Vec::new();
    if let (Some(shim), Follower::Page(page)) = (&plan.shim, follower) {
        let mut list = OsString::from(shim);
        if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
            list.push(":");
            list.push(others);
        }
        environment.push((PRELOAD, list));
        environment.push((PAGE, page.path().into()));
    }
    Launch {
        command: typed.command[0].clone(),
        arguments: typed.command[1..].to_vec(),
        cpus: plan.cpus.clone(),
        policy: plan.policy,
        environment,
    }
}
