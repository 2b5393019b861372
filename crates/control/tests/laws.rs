//! Any input is either understood as it was meant, or refused in one line.

use isobar_control::{ActionLine, Answer, Lines, MOST_REQUEST, Request, Status};
use proptest::prelude::*;

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        Just(Request::Status {}),
        Just(Request::Pause {}),
        Just(Request::Resume {}),
        any::<u64>().prop_map(|id| Request::Undo { id }),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let action = (any::<u64>(), ".*", any::<bool>(), any::<Option<u32>>())
        .prop_map(|(id, words, stands, pid)| ActionLine { id, words, stands, pid, ..ActionLine::default() });
    let status = (".*", any::<u32>(), prop::collection::vec(action, 0..5), any::<Option<u64>>()).prop_map(
        |(policy, pid, recent, changed_now)| Status { policy, pid, recent, changed_now, ..Status::default() },
    );
    prop_oneof![
        status.prop_map(|status| Answer::Status { status: Box::new(status) }),
        ".*".prop_map(|words| Answer::Done { words }),
        ".*".prop_map(|why| Answer::Refused { why }),
    ]
}

proptest! {
    #[test]
    fn what_is_said_is_heard(request in request(), answer in answer()) {
        let (asked, said) = (request.line(), answer.line());
        prop_assert!(asked.len() <= MOST_REQUEST && asked.matches('\n').count() == 1 && said.matches('\n').count() == 1);
        prop_assert_eq!(Request::read(asked.trim_end()), Ok(request));
        prop_assert_eq!(Answer::read(said.trim_end_matches('\n')), Ok(answer));
    }

    #[test]
    fn any_text_is_refused_in_one_line(text in ".*", json in "\\{\"isobar\":1,\"ask\":\"[a-z]{0,8}\"(,\"id\":-?[0-9]{1,25})?\\}") {
        for line in [&text, &json] {
            if let Err(error) = Request::read(line) {
                let message = error.to_string();
                prop_assert!(!message.is_empty() && !message.contains(char::is_control), "{message:?}");
            }
            let _ = Answer::read(line);
        }
    }

    /// The lines are the same, wherever the byte stream is cut.
    #[test]
    fn lines_do_not_depend_on_how_bytes_come(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..300), cut in 1usize..40) {
        let all = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let (mut lines, mut out) = (Lines::of(64), Vec::new());
            for piece in pieces {
                lines.push(piece);
                loop {
                    match lines.next_line() {
                        Ok(Some(line)) => out.push(line),
                        Ok(None) => break,
                        Err(_) => return (out, true),
                    }
                }
            }
            (out, false)
        };
        prop_assert_eq!(all(&mut bytes.chunks(cut)), all(&mut std::iter::once(&bytes[..])));
    }
}
