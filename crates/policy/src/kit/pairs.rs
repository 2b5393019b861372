//! Settings that are lists of `NAME=VALUE`, separated by white space, where a name refers to a
//! process. This file knows how such a list is written and which processes a name refers to. What
//! the values mean is up to the policy.

use crate::settings::ConfigError;
use isobar_model::Process;
use isobar_model::text::one_line;

/// The kernel keeps 15 bytes of a name (`TASK_COMM_LEN`, proc_pid_comm(5)).
const KERNEL_NAME_BYTES: usize = 15;

/// The pairs of a list, as written.
///
/// # Errors
/// What is wrong and what would be right, without the key.
pub fn pairs<'a>(list: &'a str, example: &str) -> Result<Vec<(&'a str, &'a str)>, String> {
    let pair = |entry: &'a str| {
        let split = entry.rsplit_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
        split.ok_or_else(|| wrong(entry, &format!("NAME=VALUE, such as {example}")))
    };
    list.split_whitespace().map(pair).collect()
}

/// A message about one entry of a list.
#[must_use]
pub fn wrong(entry: &str, expected: &str) -> String {
    format!("`{}` is impossible: expected {expected}", one_line(entry))
}

/// Turns such a message into the error of a setting.
pub(crate) fn refused<'a>(section: &'a str, key: &'a str) -> impl Fn(String) -> ConfigError + 'a {
    move |message| ConfigError::of(section, key, message)
}

/// Whether a name in the settings refers to a process: it is the process's name, whole or as the
/// kernel cuts it, or its pid.
#[must_use]
pub fn means(wanted: &str, process: &Process) -> bool {
    let name: &str = &process.name;
    let cut = name.len() == KERNEL_NAME_BYTES && wanted.as_bytes().starts_with(name.as_bytes());
    wanted == name || cut || wanted.parse() == Ok(process.pid.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_at_white_space_and_an_entry_at_its_last_equals_sign() {
        assert_eq!(pairs(" a=1\tb=c=2\n", "a=1"), Ok(vec![("a", "1"), ("b=c", "2")]));
        assert_eq!(pairs("", "a=1"), Ok(vec![]));
    }

    #[test]
    fn what_is_no_pair_is_named() {
        for (list, entry) in [("a=1 b", "b"), ("=1", "=1"), ("a=", "a=")] {
            assert_eq!(
                pairs(list, "a=1").unwrap_err(),
                format!("`{entry}` is impossible: expected NAME=VALUE, such as a=1")
            );
        }
        assert_eq!(pairs("a\u{1b}b", "a=1").unwrap_err().find('\u{1b}'), None);
    }
}
