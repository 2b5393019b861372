//! What the verbs that talk to a daemon share: where the daemon is, and how its answer is shown.

use crate::daemon;
use crate::text::{json_line, plain};
use isobar_control::{Answer, Request};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Which daemon to ask, and how to show its answer.
#[derive(Debug, clap::Args)]
pub struct Talk {
    /// The daemon's control socket [default: /run/isobar/control.sock, or control.sock in
    /// $XDG_RUNTIME_DIR/isobar]
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Talk {
    /// Sends a request.
    ///
    /// # Errors
    /// If no daemon answers.
    pub fn ask(&self, request: &Request) -> anyhow::Result<Answer> {
        daemon::ask(&daemon::find(self.socket.as_deref()), request)
    }

    /// Requests something, and shows that it was done.
    ///
    /// # Errors
    /// As [`Talk::ask`], and why the request was not fulfilled.
    pub fn have_done(&self, request: &Request, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.ask(request)? {
            Answer::Done { words } if self.json => writeln!(out, "{}", json_line(&json!({ "done": words })))?,
            Answer::Done { words } => writeln!(out, "{}", plain(&words))?,
            Answer::Refused { why } => anyhow::bail!(why),
            Answer::Status { .. } => anyhow::bail!("the daemon gave an unexpected answer"),
        }
        Ok(())
    }
}
