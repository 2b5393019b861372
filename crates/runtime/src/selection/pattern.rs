//! The ways in which a user names processes: an id, an id with all that it started, a name, a
//! cgroup path, or a group such as `unit:redis.service`. All but ids can be globs. This module
//! knows their syntax and what they match; it reads no file.
//!
//! `*` stands for any characters, `?` for one, `[abc]`, `[a-z]` and `[!a]` for one of a set. In a
//! path none of them stands for `/`, but `**` alone between two slashes stands for any number of
//! folders. A special character in brackets stands for itself: `[*]`, `[?]`, `[[]`. A backslash
//! also stands for itself, because systemd writes it into the names of cgroups. A text always
//! matches a name that is spelt exactly like it.

use super::{Cgroups, Lookups};
use glob::{MatchOptions, Pattern as Glob};
use isobar_groups::Selector;
use isobar_model::{Pid, Process};
use std::fmt;

/// The kernel keeps 15 bytes of a thread's name (`TASK_COMM_LEN`, proc_pid_comm(5)).
const KERNEL_NAME_BYTES: usize = 15;

/// Where cgroups are mounted (cgroups(7), systemd's file-hierarchy(7)).
const MOUNTED: &str = "/sys/fs/cgroup";

/// What comes before the id of a process to name it and all processes that it started.
const TREE: &str = "tree:";

/// The characters that make a text a glob.
const META: [char; 3] = ['*', '?', '['];

/// The way in which a user names a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// its id
    Pid(Pid),
    /// the id of a process from which it descends, or its own
    Tree(Pid),
    /// its cgroup, or one above it
    Cgroup(TextPattern, From),
    /// its service, container, pod or virtual machine
    Group(Selector, TextPattern),
    /// its name, whole or as the kernel cuts it
    Name(TextPattern),
}

/// Where a cgroup's path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// At the root of its hierarchy, as `/proc/PID/cgroup` has it.
    Root,
    /// At `/sys/fs/cgroup`: on version 1 the controller comes first.
    Mount,
}

/// A text, and its meaning as a glob if it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPattern {
    text: String,
    glob: Option<Glob>,
}

impl Pattern {
    /// A number is a pid; `tree:` and a number is a process with all that it started; a kind of
    /// group with a colon is a group; a text with a slash is a cgroup path; anything else is a
    /// name. A text that [`Pattern::check`] refuses matches only what is spelt exactly like it.
    pub fn parse(text: &str) -> Self {
        if let Ok(pid) = text.parse() {
            return Self::Pid(Pid(pid));
        }
        if let Some(Ok(pid)) = text.strip_prefix(TREE).map(str::parse) {
            return Self::Tree(Pid(pid));
        }
        if let Some(selector) = Selector::parse(text) {
            let name = TextPattern::new(selector.name());
            return Self::Group(selector, name);
        }
        if !text.contains('/') {
            return Self::Name(TextPattern::new(text));
        }
        match text.strip_prefix(MOUNTED).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(rest) => Self::Cgroup(TextPattern::new(rest.trim_matches('/')), From::Mount),
            None => Self::Cgroup(TextPattern::new(text.trim_matches('/')), From::Root),
        }
    }

    /// Whether a text is a valid pattern.
    ///
    /// # Errors
    /// What is wrong with it, and what is expected.
    pub fn check(text: &str) -> Result<(), String> {
        if text.trim().is_empty() {
            return Err("an empty name: expected process names, pids, groups or cgroup paths".to_owned());
        }
        if let Some(root) = text.strip_prefix(TREE) {
            let wrong = |_| format!("`{text}`: expected {TREE}PID, a process and all processes that it started");
            return root.parse::<u32>().map(drop).map_err(wrong);
        }
        Selector::check(text)?;
        Glob::new(text).map(drop).map_err(|error| {
            format!(
                "`{text}` is no pattern: {} (character {}): `*`, `?` and `[...]` stand for other characters; for the character \
                 itself write [*], [?] or [[]",
                error.msg,
                error.pos + 1
            )
        })
    }

    /// Whether the pattern matches a process. If the look-up knows no cgroup of the process, the
    /// observed one counts.
    pub(crate) fn fits(&self, process: &Process, lookups: Lookups<'_>) -> bool {
        match self {
            Self::Pid(pid) => *pid == process.pid,
            Self::Tree(root) => (lookups.descends)(process.pid, *root),
            Self::Name(name) => name.fits_name(&process.name),
            Self::Cgroup(path, from) => {
                let seen = || process.cgroup.as_ref().map(|cgroup| Cgroups::unified(&cgroup.path));
                (lookups.cgroups)(process.pid).or_else(seen).is_some_and(|all| path.fits_cgroup(&all, *from))
            }
            Self::Group(selector, name) => process.cgroup.as_ref().is_some_and(|cgroup| {
                selector.fits_path(&cgroup.path, cgroup.name.as_deref(), |text| name.globs_name(text))
            }),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pid(pid) => pid.fmt(f),
            Self::Tree(root) => write!(f, "{TREE}{root}"),
            Self::Cgroup(path, From::Root) => write!(f, "/{}", path.text),
            Self::Cgroup(path, From::Mount) => write!(f, "{MOUNTED}/{}", path.text),
            Self::Group(selector, _) => selector.fmt(f),
            Self::Name(name) => f.write_str(&name.text),
        }
    }
}

impl TextPattern {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), glob: Glob::new(text).ok().filter(|_| text.contains(META)) }
    }

    fn globs(&self, text: &str) -> bool {
        let options = MatchOptions { require_literal_separator: true, ..MatchOptions::default() };
        self.glob.as_ref().is_some_and(|glob| glob.matches_with(text, options))
    }

    /// Matches the name of a group, in which `*` also stands for a slash, because pods are
    /// `NAMESPACE/NAME`.
    fn globs_name(&self, text: &str) -> bool {
        self.glob.as_ref().is_some_and(|glob| glob.matches(text))
    }

    /// Matches a name as the kernel keeps it, cut to 15 bytes. The text before the first `*` may be
    /// longer than that.
    fn fits_name(&self, name: &str) -> bool {
        let head = if self.glob.is_some() { self.text.split(META).next().unwrap_or_default() } else { &self.text };
        let cut = name.len() == KERNEL_NAME_BYTES && head.as_bytes().starts_with(name.as_bytes());
        self.text == name || cut || self.globs(name)
    }

    /// Matches a cgroup of any hierarchy, or one above it.
    fn fits_cgroup(&self, all: &Cgroups, from: From) -> bool {
        let paths = match from {
            From::Root => all.paths(),
            From::Mount => all.mounted(),
        };
        paths.iter().any(|path| is_within(path, &self.text) || above(path).any(|path| self.globs(path)))
    }
}

fn is_within(path: &str, above: &str) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path and every path above it, without the root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.char_indices().filter(|(_, c)| *c == '/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(pattern: &str, name: &str) -> bool {
        Pattern::check(pattern).unwrap();
        TextPattern::new(pattern).fits_name(name)
    }

    #[test]
    fn names_fit_exactly_as_globs_and_as_the_kernel_cuts_them() {
        assert!(name("postgres", "postgres") && !name("postgres", "postgres2") && !name("post", "postgres"));
        assert!(
            name("postgres*", "postgres") && name("postgres*", "postgres: wal") && !name("postgres*", "mypostgres")
        );
        assert!(name("*sql[dx]", "mysqld") && !name("*sql[dx]", "mysqlc") && name("worker-?", "worker-7"));
        assert!(name("memory-intensive-job", "memory-intensiv") && !name("memory-intensive-job", "memory"));
        assert!(name("memory-intensive-*", "memory-intensiv") && !name("memory-int*-x", "memory-intensiv"));
        assert!(!name("mem", "memory"));
    }

    #[test]
    fn a_character_in_brackets_is_itself() {
        assert!(name("a[*]", "a*") && !name("a[*]", "ab") && name("[[]x]", "[x]") && name("a[?]", "a?"));
        assert!(name(r"a\x2db", r"a\x2db"));
        // Spelt exactly, although brackets are special.
        assert!(name("a*", "a*") && name("[ab]", "[ab]"));
    }

    #[test]
    fn what_is_no_pattern_is_refused_in_one_line() {
        for text in ["a[b", "a***", "[", "x**", "/a/b**/c"] {
            let told = Pattern::check(text).unwrap_err();
            assert!(told.starts_with(&format!("`{text}` is no pattern: ")) && !told.contains('\n'), "{told}");
            assert!(told.contains("write [*], [?] or [[]"), "{told}");
        }
        assert!(Pattern::check(" ").unwrap_err().starts_with("an empty name"));
        for text in ["tree:", "tree:make", "tree:-1"] {
            assert!(Pattern::check(text).unwrap_err().starts_with(&format!("`{text}`: expected tree:PID")));
        }
        // A text that is parsed although it was refused must match nothing else.
        assert!(TextPattern::new("a[b").fits_name("a[b") && !TextPattern::new("a[b").fits_name("ab"));
    }

    #[test]
    fn paths_are_shown_as_they_were_written() {
        for text in ["/system.slice/*", "/sys/fs/cgroup/memory/a", "17", "tree:17", "postgres*"] {
            assert_eq!(Pattern::parse(text).to_string(), text);
        }
        assert_eq!(Pattern::parse("a/b/").to_string(), "/a/b");
    }
}
