//! Requests and answers, written as lines and read from lines.

use crate::status::Status;
use crate::{MOST_ANSWER, VERSION};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The JSON key of the protocol version.
const KEY: &str = "isobar";

/// A request to a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Report the status.
    Status {},
    /// Stop deciding until further notice.
    Pause {},
    /// Decide again.
    Resume {},
    /// Undo an action.
    Undo {
        /// the action's number
        id: u64,
    },
}

impl Request {
    /// Whether the request may change something: peers with read access only may not send it.
    #[must_use]
    pub const fn changes(&self) -> bool {
        !matches!(self, Self::Status {})
    }

    /// Reads a request from a line.
    ///
    /// # Errors
    /// What is wrong with the line, in one line.
    pub fn read(line: &str) -> Result<Self, WordsError> {
        read(line)
    }

    /// The request as a line, including its end.
    #[must_use]
    pub fn line(&self) -> String {
        line(self)
    }
}

/// An answer of a daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// The status.
    Status {
        /// in figures
        status: Box<Status>,
    },
    /// The request was carried out.
    Done {
        /// what, in one line
        words: String,
    },
    /// The request was refused.
    Refused {
        /// why, in one line
        why: String,
    },
}

impl Answer {
    /// Reads an answer from a line.
    ///
    /// # Errors
    /// What is wrong with the line, in one line.
    pub fn read(line: &str) -> Result<Self, WordsError> {
        read(line)
    }

    /// The answer as a line, including its end. A status that is too long for a line loses its
    /// oldest actions.
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
    /// It is not a JSON object.
    #[error("expected a JSON object, such as {{\"isobar\":1,\"ask\":\"status\"}}: {0}")]
    NoObject(String),
    /// It does not name its protocol version.
    #[error("expected the key `isobar` with the version of the protocol, {VERSION}")]
    NoVersion,
    /// It has another protocol version.
    #[error(
        "this isobar speaks version {VERSION} of the protocol, the other side version {0}: install the same version"
    )]
    Version(u64),
    /// It contains something unknown.
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

/// Puts a message on one line: it may quote what the other side sent.
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

    /// A newer daemon may send more keys, and an older one fewer.
    #[test]
    fn a_status_may_have_more_keys_and_fewer() {
        let text = "{\"isobar\":1,\"answer\":\"status\",\"status\":{\"pid\":7,\"mood\":\"good\"}}";
        let Answer::Status { status } = Answer::read(text).unwrap() else { panic!() };
        assert_eq!((status.pid, status.epochs), (7, 0));
    }
}
