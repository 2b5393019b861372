//! Waits for a command that we started: passes on the signals that we get, and takes over its exit
//! code.

use crate::machines::launch;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

/// Pause between two checks of the command.
const PAUSE: Duration = Duration::from_millis(20);

/// Signals that are passed on.
const PASSED: [i32; 7] = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH];

/// Signals that a terminal sends to the command as well.
const OF_TERMINALS: [i32; 2] = [SIGINT, SIGQUIT];

/// Catches the signals that are passed on, from now on. Signals that were ignored stay ignored, for
/// the command too (nohup, background jobs of scripts).
///
/// # Errors
/// The kernel's error.
pub fn signals() -> io::Result<Signals> {
    let wanted = PASSED.iter().chain(&OF_TERMINALS).filter(|signal| !launch::ignores(**signal));
    Signals::new(wanted.chain(&[SIGCHLD]))
}

/// Waits for the command and passes signals on meanwhile. `step` is called now and then.
///
/// # Errors
/// The kernel's error.
pub fn wait(child: &mut Child, signals: &mut Signals, mut step: impl FnMut()) -> io::Result<ExitStatus> {
    let in_terminal = io::stdin().is_terminal();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        for number in signals.pending() {
            let passed = PASSED.contains(&number) || OF_TERMINALS.contains(&number) && !in_terminal;
            if let (true, Some(pid), Some(signal)) = (passed, pid, Signal::from_named_raw(number)) {
                // The command may have ended; its exit code is then found below.
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

/// The exit code of a command, as shells report it.
pub fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
