//! What a target said about an input: its refusals, remarks, and the types of what it accepted.
//! They show how far an input came, where there is no instrumented code that would.

use crate::text;
use std::any::type_name;
use std::cell::RefCell;

/// Messages kept of one input, and bytes of one message.
const MOST: usize = 32;
const MOST_BYTES: usize = 300;

/// All that was said about one input.
#[derive(Default)]
pub struct Heard {
    /// Whether something was accepted.
    pub accepted: bool,
    /// The types of what was accepted, the refusals and remarks.
    pub messages: Vec<String>,
}

thread_local! {
    /// None unless [`listen`] runs, as under libFuzzer.
    static HEARD: RefCell<Option<Heard>> = const { RefCell::new(None) };
}

/// What is said while `body` runs.
pub fn listen(body: impl FnOnce()) -> Heard {
    HEARD.set(Some(Heard::default()));
    body();
    HEARD.take().unwrap_or_default()
}

/// Says that a value was accepted.
pub fn accept<T>() {
    HEARD.with_borrow_mut(|heard| heard.iter_mut().for_each(|heard| heard.accepted = true));
    say(type_name::<T>());
}

/// Says something.
pub fn say(message: &str) {
    HEARD.with_borrow_mut(|heard| {
        if let Some(heard) = heard.as_mut().filter(|heard| heard.messages.len() < MOST) {
            heard.messages.push(text::first(message, MOST_BYTES).to_owned());
        }
    });
}
