//! How a run ends: its exit code, and one line on stderr. It distinguishes bad input from all other
//! failures. A reader that went away (`isobar topo | head -1`) is neither.

use crate::{output, text};
use isobar_runtime::in_full;
use std::fmt;
use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::time::Duration;

/// Marks an error as wrong input by the user: exit code 2. The text is the whole message, one line
/// that names the file, line or key, what is wrong, and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(String);

/// A command that we started has ended and its exit code becomes ours: nothing more is printed.
#[derive(Debug, thiserror::Error)]
#[error("the command ended with exit code {0}")]
pub struct Ended(u8);

impl Ended {
    /// Ends with this exit code.
    pub const fn of(code: u8) -> Self {
        Self(code)
    }
}

/// An error that ends the command with exit code 2.
pub fn bad_input(message: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(BadInput(message.to_string()))
}

/// The exit code of a finished run. An error is first printed in one line.
pub fn exit_code(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Ended>() => ExitCode::from(error.downcast_ref::<Ended>().map_or(1, |ended| ended.0)),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            notify(&in_full(error.as_ref()));
            ExitCode::from(if error.is::<BadInput>() { 2 } else { 1 })
        }
    }
}

/// The longest time that a message waits for its reader.
const PATIENCE: Duration = Duration::from_secs(1);

/// The same limit while changes still have to be put back.
const HASTE: Duration = Duration::from_millis(200);

/// Writes one line to stderr. A stderr that is closed, or that no process reads, is no reason to
/// fail or to wait for long.
pub fn notify(message: &str) {
    notify_within(message, PATIENCE);
}

/// Writes a line to stderr unchanged, under the same rule.
pub fn write_line(line: &str) {
    output::stderr_within(line.to_owned(), PATIENCE);
}

fn notify_within(message: &str, limit: Duration) {
    output::stderr_within(format!("isobar: {}\n", text::plain(&text::brief(message))), limit);
}

/// Reports a panic, which is a bug of isobar, in one line with its location. The loop catches the
/// panic and puts everything back, so the report must not wait here.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()));
        let payload = panic.payload();
        let fixed = payload.downcast_ref::<&str>().copied();
        let why = fixed.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        notify_within(&format!("internal error{place}: {why}"), HASTE);
    }));
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<io::Error>().map(io::Error::kind);
    error.chain().filter_map(io).any(|kind| kind == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_runtime::RunError;

    #[test]
    fn causes_are_joined_once() {
        let error = anyhow::Error::new(io::Error::other("no such thing")).context("/a: no such thing").context("outer");
        assert_eq!(in_full(error.as_ref()), "outer: /a: no such thing");
    }

    #[test]
    fn a_reader_that_went_away_is_recognised_in_an_error_of_the_loop() {
        let closed = || io::Error::new(ErrorKind::BrokenPipe, "standard output: closed");
        let run = RunError::Observer(closed().into());
        assert_eq!(in_full(&run), "standard output: closed");
        assert!(is_closed_pipe(&run.into()));
        let (run, restore) =
            (Box::new(RunError::Observer(closed().into())), Box::new(RunError::Restore("left".into())));
        assert!(!is_closed_pipe(&RunError::RestoreAfter { restore, run }.into()), "what is left changed is a failure");
    }

    #[test]
    fn bad_input_is_recognised_below_a_context() {
        assert!(bad_input("x").context("y").is::<BadInput>());
        assert!(!anyhow::anyhow!("x").is::<BadInput>());
        assert!(is_closed_pipe(&anyhow::Error::new(io::Error::from(ErrorKind::BrokenPipe)).context("writing")));
    }
}
