//! Requests and answers, to and from lines.

use crate::status::Status;
use crate::{MOST_ANSWER, VERSION};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The key of the version.
const KEY: &str = "isobar";

/// What is asked of a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// How it is.
    Status {},
    /// To decide nothing until further notice.
    Pause {},
    /// To decide again.
    Resume {},
    /// To take an action back.
    Undo {
        /// the action's number
        id: u64,
    },
}

impl Request {
    /// Whether it may change something: a reader may not ask for it.
    #[must_use]
    pub const fn changes(&self) -> bool {
        !matches!(self, Self::Status {})
    }

    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn read(line: &str) -> Result<Self, WordsError> {
        read(line)
    }

    /// As a line, with its end.
    #[must_use]
    pub fn line(&self) -> String {
        line(self)
    }
}

/// What a daemon answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// How it is.
    Status {
        /// in figures
        status: Box<Status>,
    },
    /// It was done.
    Done {
        /// what, in one line
        words: String,
    },
    /// It was not done.
    Refused {
        /// why, in one line
        why: String,
    },
}

impl Answer {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn read(line: &str) -> Result<Self, WordsError> {
        read(line)
    }

    /// As a line, with its end; what is too long for one loses its oldest actions.
    #[must_use]
    pub fn line(&self) -> String {
        let text = line(self);
        match self {
            Self::Status { status } if text.len() > MOST_ANSWER && !status.recent.is_empty() => {
                let mut fewer = status.clone();
                fewer.recent.truncate(status.recent.len() / 2);
                Self::Status { status: fewer }.line()
            }
            _ => text,
        }
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// It is no JSON object.
    #[error("expected a JSON object, such as {{\"isobar\":1,\"ask\":\"status\"}}: {0}")]
    NoObject(String),
    /// It does not say of which version it is.
    #[error("expected the key `isobar` with the version of the protocol, {VERSION}")]
    NoVersion,
    /// It is of another version.
    #[error(
        "this isobar speaks version {VERSION} of the protocol, the other side version {0}: install the same version"
    )]
    Version(u64),
    /// It says something unknown.
    #[error("{0}")]
    Unknown(String),
}

fn read<T: DeserializeOwned>(line: &str) -> Result<T, WordsError> {
    let mut object: Map<String, Value> =
        serde_json::from_str(line).map_err(|error| WordsError::NoObject(one_line(&error.to_string())))?;
    match object.remove(KEY).map(|version| version.as_u64()) {
        Some(Some(version)) if version == u64::from(VERSION) => {}
        Some(Some(version)) => return Err(WordsError::Version(version)),
        _ => return Err(WordsError::NoVersion),
    }
    serde_json::from_value(Value::Object(object)).map_err(|error| WordsError::Unknown(one_line(&error.to_string())))
}

fn line<T: Serialize>(said: &T) -> String {
    let mut object = Map::from_iter([(KEY.to_owned(), json!(VERSION))]);
    if let Ok(Value::Object(words)) = serde_json::to_value(said) {
        object.extend(words);
    }
    format!("{}\n", Value::Object(object))
}

/// A message may quote what the other side sent.
fn one_line(message: &str) -> String {
    message
        .chars()
        .flat_map(|letter| if letter.is_control() { letter.escape_default().collect() } else { vec![letter] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::ActionLine;

    #[test]
    fn requests_are_one_line_each_and_what_is_wrong_is_said() {
        assert_eq!(Request::Undo { id: 12 }.line(), "{\"isobar\":1,\"ask\":\"undo\",\"id\":12}\n");
        assert_eq!(Request::read("{\"isobar\":1,\"ask\":\"status\"}"), Ok(Request::Status {}));
        let why = |line: &str| Request::read(line).unwrap_err().to_string();
        assert!(why("status").starts_with("expected a JSON object, such as {\"isobar\":1,\"ask\":\"status\"}"));
        assert!(why("{\"ask\":\"status\"}").contains("the key `isobar`"));
        assert!(why("{\"isobar\":2,\"ask\":\"new\"}").contains("version 1 of the protocol, the other side version 2"));
        assert!(why("{\"isobar\":1,\"ask\":\"reboot\"}").contains("unknown variant `reboot`"));
        assert!(why("{\"isobar\":1,\"ask\":\"undo\"}").contains("missing field `id`"));
        assert!(why("{\"isobar\":1,\"ask\":\"status\",\"id\":1}").contains("unknown field `id`"));
        assert!(why("{\"isobar\":1,\"ask\":\"undo\",\"id\":-1}").contains("-1"));
    }

    #[test]
    fn only_looking_changes_nothing() {
        assert!(!Request::Status {}.changes());
        for request in [Request::Pause {}, Request::Resume {}, Request::Undo { id: 1 }] {
            assert!(request.changes(), "{request:?}");
        }
    }

    #[test]
    fn an_answer_that_is_too_long_loses_its_oldest_actions() {
        let line = |id| ActionLine { id, words: "w".repeat(10_000), ..ActionLine::default() };
        let status = Status { recent: (0..200).rev().map(line).collect(), ..Status::default() };
        let text = Answer::Status { status: Box::new(status) }.line();
        assert!(text.len() <= MOST_ANSWER, "{}", text.len());
        let Answer::Status { status } = Answer::read(&text).unwrap() else { panic!() };
        assert_eq!((status.recent.first().unwrap().id, status.recent.len()), (199, 100));
    }

    /// A daemon that is younger says more; one that is older says less.
    #[test]
    fn a_status_may_have_more_keys_and_fewer() {
        let text = "{\"isobar\":1,\"answer\":\"status\",\"status\":{\"pid\":7,\"mood\":\"good\"}}";
        let Answer::Status { status } = Answer::read(text).unwrap() else { panic!() };
        assert_eq!((status.pid, status.epochs), (7, 0));
    }
}
