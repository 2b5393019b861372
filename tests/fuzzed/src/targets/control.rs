//! Input on the control socket, from anyone who may open it. Bytes in pieces become lines, and
//! lines become requests or one line of refusal. A client reads answers in the same way.

use crate::check::accepted;
use isobar_control::{Answer, Lines, MOST_REQUEST, Request};

/// Checks one input.
pub fn run(bytes: &[u8]) {
    let (cut, bytes) = bytes.split_first().map_or((1, bytes), |(cut, rest)| (usize::from(*cut).max(1), rest));
    let mut lines = Lines::of(MOST_REQUEST);
    for piece in bytes.chunks(cut) {
        lines.push(piece);
        loop {
            match lines.next_line() {
                Ok(Some(line)) => check(&line),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

fn check(line: &str) {
    if let Some(request) = accepted(Request::read(line)) {
        let printed = request.line();
        assert!(printed.len() <= MOST_REQUEST, "{printed}");
        assert_eq!(Request::read(printed.trim_end()), Ok(request), "the printed request is another");
    }
    if let Some(answer) = accepted(Answer::read(line)) {
        let printed = answer.line();
        assert_eq!(printed.matches('\n').count(), 1, "an answer is one line");
    }
}
