//! Taking actions back: which ones, and the question before that. Carrying it out is left to the
//! caller.

use crate::app::App;
use crate::question::Question;
use crate::reply::{Key, Reply};
use isobar_model::Pid;

impl App {
    /// Asks a person whether to take something back.
    pub fn ask(&mut self, question: Question) {
        self.question = Some(question);
    }

    /// The question that was answered with yes; returned only once.
    pub const fn agreed(&mut self) -> Option<Question> {
        self.agreed.take()
    }

    /// Shows the file that is recorded to; `None`: no recording.
    pub fn recording(&mut self, file: Option<String>) {
        self.recording = file;
    }
}

/// Handles the key that asks to take back the last decision about the selected program.
pub fn begin(app: &mut App) -> Reply {
    let Some((pid, _)) = app.selected else {
        app.notify("select a program first, then u".to_owned());
        return Reply::Stay;
    };
    let view = app.past.newest().cloned();
    let program = view.as_ref().and_then(|view| view.programs.iter().find(|program| program.pid.0 == pid));
    let acts = view.as_ref().is_some_and(|view| view.acts);
    match program.and_then(|program| program.last.as_ref()).filter(|_| acts) {
        Some(last) if !last.ids.is_empty() => {
            let (ids, words) = (last.ids.clone(), last.words.clone());
            app.ask(Question { ids, words, of_daemon: false });
            Reply::Stay
        }
        _ => Reply::FindUndo(Pid(pid)),
    }
}

/// Handles a key while the question is shown.
pub fn answered(app: &mut App, key: Key) -> Reply {
    let question = app.question.take();
    if key != Key::Char('y') {
        return Reply::Stay;
    }
    app.agreed = question;
    Reply::Undo
}
