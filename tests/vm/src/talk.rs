//! A process that takes orders: one line in, one line out. It ends when this value is dropped.

use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The running process and both ends of the conversation.
pub struct Talk {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Talk {
    /// Starts a command.
    pub fn with(command: &mut Command) -> Result<Self> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().with_context(|| format!("{command:?}"))?;
        let to = child.stdin.take().context("no stdin")?;
        let from = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, to, from })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line and returns the answer. The result is an error if the answer begins with that
    /// word.
    pub fn ask(&mut self, line: &str) -> Result<String> {
        writeln!(self.to, "{line}").context("the process has gone")?;
        self.to.flush()?;
        self.hear().with_context(|| format!("`{line}`"))
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> Result<()> {
        let status = self.child.wait()?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }

    /// The next line of its output.
    pub fn hear(&mut self) -> Result<String> {
        let mut answer = String::new();
        ensure!(self.from.read_line(&mut answer)? > 0, "the process has gone without an answer");
        let answer = answer.trim().to_owned();
        if answer.starts_with("error") {
            bail!("{answer}");
        }
        Ok(answer)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
