//! The command while it runs: it gets the signals that we get and the decisions as they change, and
//! its exit code becomes ours.

use super::manager::Manager;
use super::plan::Plan;
use super::source::Source;
use super::{By, Run};
use crate::failure::tell;
use crate::machines::launch::{self, Decision, Launch, LaunchError, PAGE, SharedPage, Way, Weights};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

/// Between two looks at the file with the decision, and at the command.
const PAUSE: Duration = Duration::from_millis(20);

const PRELOAD: &str = "LD_PRELOAD";

/// Signals that are passed on.
const PASSED: [i32; 7] = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH];

/// Those that a terminal sends to the command as well.
const OF_TERMINALS: [i32; 2] = [SIGINT, SIGQUIT];

/// Runs the command to its end; its exit code.
///
/// # Errors
/// What kept it from being started; a failure to put back.
pub fn run(typed: &Run, plan: &Plan) -> anyhow::Result<u8> {
    // Before the command starts, so that no signal is lost.
    // What was ignored stays so, for the command too (nohup, background jobs of scripts).
    let wanted = PASSED.iter().chain(&OF_TERMINALS).filter(|signal| !launch::ignores(**signal));
    let mut signals = Signals::new(wanted.chain(&[SIGCHLD]))?;
    let (mut source, first) = typed.decision.as_deref().map(Source::open).transpose()?.unzip();
    let mut follower = Follower::open(plan.by, typed.decision.is_some())?;
    if let Some(first) = first {
        follower.say(&first)?;
    }
    let mut child = match launch::start(&what(typed, plan, &follower)) {
        Ok(child) => child,
        Err(LaunchError::Command { command, source }) => {
            tell(&format!("{command}: {source}"));
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
            tell(&format!("no manager for the command, so its new pages go where they would anyway: {error}"));
            None
        }
    };
    let status = wait(&mut child, &mut signals, || {
        if manager.as_mut().is_some_and(Manager::has_ended) {
            tell("the manager of the command has ended: its new pages go where they would anyway");
            manager = None;
        }
        if let Some(decision) = source.as_mut().and_then(Source::changed)
            && let Err(error) = follower.say(&decision)
        {
            tell(&error.to_string());
        }
    });
    drop(manager);
    follower.end()?;
    Ok(code(status?))
}

/// Who is told of decisions.
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

    /// Puts back what was changed of the machine.
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

fn wait(child: &mut Child, signals: &mut Signals, mut step: impl FnMut()) -> io::Result<ExitStatus> {
    let in_terminal = io::stdin().is_terminal();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        for number in signals.pending() {
            let passed = PASSED.contains(&number) || OF_TERMINALS.contains(&number) && !in_terminal;
            if let (true, Some(pid), Some(signal)) = (passed, pid, Signal::from_named_raw(number)) {
                // It may have ended: then its exit code is found below.
                let _ = kill_process(pid, signal);
            }
        }
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        step();
        thread::sleep(PAUSE);
    }
}

/// As shells have it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
