//! Says how a boot ended. The verdict follows from what a dead QEMU left behind: its exit status,
//! its standard error, the guest's console, and the lines of the director. Nothing is read or
//! started here.

use crate::error::one_line;
use numasim_guest::wire::{Line, VERDICT_DONE, VERDICT_FAILED};

/// How QEMU's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// By itself, with an exit code.
    Exit(i32),
    /// By a signal that numasim did not send.
    Signal(i32),
    /// numasim ended it because its time was over.
    OutOfTime,
    /// numasim ended it because of Ctrl-C.
    Interrupted,
}

/// What a boot left.
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// The guest's console.
    pub console: String,
    /// Standard error of QEMU and the plugin.
    pub errors: String,
    /// The lines of the director.
    pub lines: Vec<Line>,
    /// What a command printed.
    pub output: String,
}

/// How a boot ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The director did everything that it was ordered to do.
    Done,
    /// The director could not go on.
    Director(String),
    /// The plugin refused; its error line.
    Plugin(String),
    /// The guest's kernel panicked; its line.
    Panicked(String),
    /// QEMU ended by itself or by a signal; its last message.
    Qemu(String),
    /// The boot's time was over.
    OutOfTime {
        /// Runs that the director had reported.
        runs: usize,
    },
    /// The guest shut itself down, or was rebooted, before everything was done.
    Down,
    /// The guest went down and had reported nothing at all.
    Silent,
    /// Ctrl-C.
    Interrupted,
}

/// Judges how a boot ended.
#[must_use]
pub fn judge(stop: Stop, remains: &Remains) -> Ending {
    let plugin = remains.errors.lines().find(|line| line.contains("numasim: error:"));
    let panic = remains.console.lines().find(|line| line.contains("Kernel panic"));
    match (stop, plugin, panic) {
        (Stop::Interrupted, ..) => Ending::Interrupted,
        (_, Some(line), _) => Ending::Plugin(one_line(line)),
        (_, _, Some(line)) => Ending::Panicked(one_line(line)),
        (Stop::Exit(code), ..) if code == exit_code(VERDICT_DONE) && told_done(remains) => Ending::Done,
        (Stop::Exit(code), ..) if code == exit_code(VERDICT_FAILED) => Ending::Director(why(remains)),
        (Stop::OutOfTime, ..) => Ending::OutOfTime { runs: runs(remains) },
        (Stop::Exit(0 | 1), ..) if remains.lines.is_empty() && remains.errors.trim().is_empty() => Ending::Silent,
        (Stop::Exit(0), ..) if !remains.errors.contains("terminating on signal") => Ending::Down,
        (Stop::Exit(code), ..) => Ending::Qemu(format!("it ended with code {code}: {}", said(remains))),
        (Stop::Signal(number), ..) => Ending::Qemu(format!("it was killed by signal {number}: {}", said(remains))),
    }
}

/// The exit code that QEMU makes of a verdict (hw/misc/debugexit.c).
const fn exit_code(verdict: i32) -> i32 {
    2 * verdict + 1
}

fn told_done(remains: &Remains) -> bool {
    remains.lines.contains(&Line::Done)
}

fn runs(remains: &Remains) -> usize {
    remains.lines.iter().filter(|line| matches!(line, Line::Run(_))).count()
}

fn why(remains: &Remains) -> String {
    let given =
        remains.lines.iter().find_map(|line| if let Line::Failed { why } = line { Some(one_line(why)) } else { None });
    let console = || remains.console.lines().rfind(|line| line.contains("director")).map(one_line);
    given.or_else(console).unwrap_or_else(|| "it did not say why".to_owned())
}

/// QEMU's last message, or the console's last line if QEMU printed none.
fn said(remains: &Remains) -> String {
    let last = |text: &str| text.lines().rfind(|line| !line.trim().is_empty()).map(one_line);
    last(&remains.errors)
        .or_else(|| last(&remains.console).map(|line| format!("no message; the console ended with: {line}")))
        .unwrap_or_else(|| "no message, and an empty console".to_owned())
}

impl Ending {
    /// One line for people.
    #[must_use]
    pub fn in_words(&self, seconds: u32) -> String {
        match self {
            Self::Done => "done".to_owned(),
            Self::Director(why) => format!("the director in the guest could not continue: {why}"),
            Self::Plugin(line) => format!("the plugin refused: {line}"),
            Self::Panicked(line) => format!("the guest's kernel panicked: {line}"),
            Self::Qemu(what) => format!("QEMU aborted: {what}"),
            Self::OutOfTime { runs } => {
                format!(
                    "out of time after {seconds} s, {runs} run(s) done; raise --seconds (in a file, \
                     boot_limit_seconds) or ask for less"
                )
            }
            Self::Down => {
                "the guest shut itself down before it was done: nothing in it may power off or reboot".to_owned()
            }
            Self::Silent => "the guest ended twice without any message".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "ending_tests.rs"]
mod tests;
