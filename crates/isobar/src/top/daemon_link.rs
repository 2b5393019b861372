//! Finds and takes back actions of a daemon that runs beside a screen that only watches. It talks
//! to the daemon's socket in threads of its own, so that the screen never waits.

use super::News;
use crate::daemon;
use isobar_control::{ActionLine, Answer, Request, Status};
use isobar_model::{ActionId, Pid};
use isobar_tui::Question;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::thread;

/// Access to the actions of a daemon.
pub struct DaemonLink {
    /// The socket of the daemon; `None` if the machine on the screen is not the one that it
    /// manages.
    pub socket: Option<PathBuf>,
    /// Where to report the result.
    pub news: Sender<News>,
}

impl DaemonLink {
    /// Looks for the last action of the daemon that concerns a program.
    pub fn find(&self, pid: Pid) {
        let Some(socket) = self.socket.clone() else {
            return self.notify("there is no action on it that could be taken back");
        };
        self.beside(move || match daemon::ask(&socket, &Request::Status {}) {
            Ok(Answer::Status { status }) => question(&status, pid),
            Ok(Answer::Refused { why }) => News::Status(why),
            Ok(Answer::Done { words }) => News::Status(words),
            Err(why) => News::Status(format!("{why:#}")),
        });
    }

    /// Asks the daemon to take back what the user agreed to.
    pub fn undo(&self, question: Question) {
        let Some(socket) = self.socket.clone() else { return };
        self.beside(move || {
            let said = question.ids.iter().map(|id| match daemon::ask(&socket, &Request::Undo { id: id.0 }) {
                Ok(Answer::Done { words }) => words,
                Ok(Answer::Refused { why }) => why,
                Ok(Answer::Status { .. }) => "the daemon gave an unexpected answer".to_owned(),
                Err(why) => format!("{why:#}"),
            });
            News::Status(said.collect::<Vec<_>>().join("; "))
        });
    }

    fn beside(&self, work: impl FnOnce() -> News + Send + 'static) {
        let news = self.news.clone();
        // If the screen is gone, it needs no news.
        let begun = thread::Builder::new().name("daemon".into()).spawn(move || drop(news.send(work())));
        if begun.is_err() {
            self.notify("no thread can be started to ask the daemon");
        }
    }

    fn notify(&self, what: &str) {
        let _ = self.news.send(News::Status(what.to_owned()));
    }
}

/// Asks whether to take back the last action on a program that is still in effect.
fn question(status: &Status, pid: Pid) -> News {
    let its = |line: &&ActionLine| line.stands && line.pid == Some(pid.0);
    match status.recent.iter().find(its) {
        Some(ActionLine { id, words, .. }) => {
            News::Question(Question { ids: vec![ActionId(*id)], words: words.clone(), of_daemon: true })
        }
        None => News::Status(format!("the daemon has no recent action on process {pid} that is still in effect")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_action_that_stands_is_asked_about() {
        let line = |id, pid, stands| ActionLine { id, pid: Some(pid), stands, ..ActionLine::default() };
        let recent = vec![line(9, 1, false), line(8, 2, true), line(7, 1, true), line(6, 1, true)];
        let status = Status { recent, ..Status::default() };
        let News::Question(asked) = question(&status, Pid(1)) else { panic!() };
        assert_eq!((asked.ids, asked.of_daemon), (vec![ActionId(7)], true));
        assert!(matches!(question(&status, Pid(3)), News::Status(why) if why.contains("process 3")));
    }
}
