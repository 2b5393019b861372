//! What the verbs share that talk to a daemon: where it is, and how its answer is shown.

use crate::daemon;
use crate::text::{json_line, plain};
use isobar_control::{Answer, Request};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Which daemon, and how to show what it answers.
#[derive(Debug, clap::Args)]
pub struct Talk {
    /// The daemon's control socket; else /run/isobar/control.sock, or that in
    /// $XDG_RUNTIME_DIR/isobar
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Talk {
    /// Asks.
    ///
    /// # Errors
    /// Where no daemon answers.
    pub fn ask(&self, request: &Request) -> anyhow::Result<Answer> {
        daemon::ask(&daemon::find(self.socket.as_deref()), request)
    }

    /// Asks for something to be done, and shows that it was.
    ///
    /// # Errors
    /// As [`Talk::ask`], and why it was not done.
    pub fn have_done(&self, request: &Request, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.ask(request)? {
            Answer::Done { words } if self.json => writeln!(out, "{}", json_line(&json!({ "done": words })))?,
            Answer::Done { words } => writeln!(out, "{}", plain(&words))?,
            Answer::Refused { why } => anyhow::bail!(why),
            Answer::Status { .. } => anyhow::bail!("the daemon answered something else than was asked"),
        }
        Ok(())
    }
}
