//! What the targets share.

use crate::heard;
use isobar_model::{Observation, Plan, Policy};
use std::fmt::Display;

/// The accepted value; a refusal must be one line of words.
pub fn accepted<T>(read: Result<T, impl Display>) -> Option<T> {
    if read.is_ok() {
        heard::accept::<T>();
    }
    read.map_err(|error| one_line(&error.to_string())).ok()
}

/// The value, if there is one, where there is no message for a refusal.
pub fn found<T>(read: Option<T>) -> Option<T> {
    if read.is_some() {
        heard::accept::<T>();
    }
    read
}

/// Fails unless a message is one line with words.
pub fn one_line(message: &str) {
    assert!(!message.trim().is_empty() && !message.contains(char::is_control), "{message:?}");
    heard::say(message);
}

/// The plan of a policy, which must be valid for what the policy saw.
pub fn plan(policy: &mut dyn Policy, seen: &Observation) -> Plan {
    let plan = policy.decide(seen);
    if let Err(fault) = plan.validate(seen) {
        panic!("{}: {fault}: {plan:?}", policy.name());
    }
    plan
}

/// An archive of the files `PATH=TEXT` in an input, separated by `;`. `place` gives the path in the
/// archive for each path in the input.
pub fn archive(text: &str, place: impl Fn(&str) -> String) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in text.split(';').filter_map(|file| file.split_once('=')).take(200) {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o444);
        let _ = archive.append_data(&mut header, place(path.trim()), content.as_bytes());
    }
    archive.into_inner().unwrap_or_default()
}
