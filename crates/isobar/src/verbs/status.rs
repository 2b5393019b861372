//! `isobar status`: shows the state of the daemon and its last actions.

use super::Verb;
use super::talk::Talk;
use crate::text::{json_line, plain, plural};
use isobar_control::{ActionLine, Answer, GroupLine, Request, Status as DaemonState};
use std::io::Write;

/// Show the state of the daemon and its last actions
#[derive(Debug, clap::Parser)]
#[command(
    name = "status",
    after_help = "Example:
  isobar status
  isobar status --json

Exit code: 0 a daemon answers; 1 none does, or this user may not ask."
)]
pub struct Status {
    /// which daemon
    #[command(flatten)]
    talk: Talk,
    /// Maximum number of actions to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    last: usize,
}

impl Verb for Status {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let status = match self.talk.ask(&Request::Status {})? {
            Answer::Status { status } => *status,
            Answer::Refused { why } => anyhow::bail!(why),
            Answer::Done { .. } => anyhow::bail!("the daemon gave an unexpected answer"),
        };
        if self.talk.json {
            return Ok(writeln!(out, "{}", json_line(&serde_json::to_value(&status)?))?);
        }
        for line in lines(&status, self.last) {
            writeln!(out, "{}", plain(&line))?;
        }
        Ok(())
    }
}

fn lines(status: &DaemonState, last: usize) -> Vec<String> {
    let DaemonState { version, pid, machine, policy, interval_seconds, .. } = status;
    let mode = match (status.paused, status.dry_run) {
        (true, _) => "PAUSED (`isobar resume` ends that)",
        (false, true) => "dry run: nothing is changed",
        (false, false) => "at work",
    };
    let mut lines = vec![
        format!("isobar {version}, process {pid}, {machine}: {mode}"),
        format!("policy {policy}, every {interval_seconds} s, {}", so_far(status)),
    ];
    lines.extend(status.groups.iter().map(|GroupLine { group, policy }| format!("policy {policy} for {group}")));
    lines.push(match &status.config {
        Some(file) => format!("configuration {file}"),
        None => "no configuration file".to_owned(),
    });
    if policy == "linux" && status.groups.iter().all(|group| group.policy == "linux") {
        lines.push("policy linux changes nothing: `policy = \"isobar\"` in [manage] makes isobar act".to_owned());
    }
    lines.extend(
        status
            .reload_refused
            .iter()
            .map(|why| format!("the last reload was refused, and the old configuration stays in effect: {why}")),
    );
    lines.extend(status.recording.iter().map(|file| format!("recording to {file}")));
    lines.extend(status.remarks.iter().map(|remark| format!("remark: {remark}")));
    lines.extend(actions(status, last));
    lines
}

fn so_far(status: &DaemonState) -> String {
    let changed = status.changed_now.map(|count| format!(", {count} changed now")).unwrap_or_default();
    let own = status
        .own_cpu_percent
        .map(|percent| format!("; isobar itself takes {percent:.2} % of a CPU"))
        .unwrap_or_default();
    format!(
        "{} in {:.0} s: {}, {} moved, {} moved{changed}; {} seen, {} managed{own}",
        plural(status.epochs, "decision"),
        status.seconds,
        plural(status.actions, "action"),
        plural(status.threads_moved, "thread"),
        plural(status.pages_moved, "page"),
        plural(status.threads, "thread"),
        status.managed_threads,
    )
}

fn actions(status: &DaemonState, last: usize) -> Vec<String> {
    if status.recent.is_empty() {
        return vec!["no action yet".to_owned()];
    }
    let mut lines = vec!["last actions (`isobar undo ID` takes one back):".to_owned()];
    lines.extend(status.recent.iter().take(last).map(action));
    lines
}

fn action(one: &ActionLine) -> String {
    let ActionLine { id, seconds_ago, words, reason, became, .. } = one;
    format!("  #{id}  {seconds_ago:.0} s ago: {words}: {reason} [{became}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_a_person_asks_first() {
        let line = ActionLine {
            id: 12,
            seconds_ago: 8.2,
            words: "move thread 1 of process 1 (mcf) to cpu 3".into(),
            reason: "room".into(),
            became: "done".into(),
            ..ActionLine::default()
        };
        let status = DaemonState {
            version: "0.1.0".into(),
            pid: 7,
            machine: "this machine".into(),
            policy: "linux".into(),
            paused: true,
            epochs: 1,
            interval_seconds: 1.0,
            reload_refused: Some("x.toml: line 3".into()),
            recent: vec![line],
            ..DaemonState::default()
        };
        let text = lines(&status, 5).join("\n");
        for piece in [
            "isobar 0.1.0, process 7, this machine: PAUSED",
            "policy linux, every 1 s, 1 decision",
            "no configuration file",
            "policy linux changes nothing",
            "the last reload was refused, and the old configuration stays in effect: x.toml: line 3",
            "  #12  8 s ago: move thread 1 of process 1 (mcf) to cpu 3: room [done]",
        ] {
            assert!(text.contains(piece), "{piece}: {text}");
        }
    }
}
