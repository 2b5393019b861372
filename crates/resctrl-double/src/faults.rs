//! Planted faults and the journal: what the actuator must survive (a refusal at the worst moment,
//! another tool that takes the last CLOSID, a task that dies while it is moved, a mount that
//! vanishes), and what it wrote. Neither belongs to the kernel's behaviour.

use rustix::io::Errno;

/// A request to the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Reading a file; never in the journal.
    Read,
    /// One `write` on a file.
    Write,
    /// Making a group.
    Mkdir,
    /// Removing one.
    Rmdir,
    /// Moving a monitor group.
    Rename,
}

impl Operation {
    /// Its name in the journal and in a fault's text form.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Mkdir => "mkdir",
            Self::Rmdir => "rmdir",
            Self::Rename => "rename",
        }
    }
}

/// What happens when a fault is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// The operation changes nothing and fails with this; `last_cmd_status` says nothing of it.
    Refuse(Errno),
    /// Just before, another tool makes control groups (`other-tool-N`) until no CLOSID is left.
    TakeClosids,
    /// The tasks named in the text are dead from now on, though `/proc` may still show them.
    TasksDie,
    /// Just after, the mount is gone (as `umount -l`): open files go on, paths lead to the empty
    /// folder below.
    Unmount,
}

/// A fault: the n-th operation of this kind on a path like this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of operation.
    pub operation: Operation,
    /// The path from the mount's root, without a leading slash; `*` stands for any characters.
    pub path: String,
    /// 1 is the first operation that matches.
    pub nth: u32,
    /// What happens then.
    pub mishap: Mishap,
}

impl Fault {
    /// The n-th write to such a path fails with this errno.
    #[must_use]
    pub fn write(path: &str, nth: u32, errno: Errno) -> Self {
        Self { operation: Operation::Write, path: path.to_owned(), nth, mishap: Mishap::Refuse(errno) }
    }

    /// A fault from `OPERATION:PATH:NTH:MISHAP`, such as `write:*/schemata:2:EBUSY`; a mishap is an
    /// errno's name, `take-closids`, `tasks-die` or `unmount`.
    ///
    /// # Errors
    /// One line that names the part and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let [operation, path, nth, mishap] = parts.as_slice() else {
            return Err(format!("`{text}`: a fault is OPERATION:PATH:NTH:MISHAP, such as write:*/schemata:2:EBUSY"));
        };
        let known = [Operation::Read, Operation::Write, Operation::Mkdir, Operation::Rmdir, Operation::Rename];
        let found = known.into_iter().find(|known| known.name() == *operation);
        Ok(Self {
            operation: found.ok_or_else(|| format!("`{operation}`: read, write, mkdir, rmdir or rename"))?,
            path: (*path).to_owned(),
            nth: nth.parse().ok().filter(|nth| *nth > 0).ok_or_else(|| format!("`{nth}`: a whole number from 1"))?,
            mishap: Mishap::parse(mishap)?,
        })
    }
}

/// The errnos that a planted fault may give, with their names.
const ERRNOS: [(&str, Errno); 8] = [
    ("EBUSY", Errno::BUSY),
    ("EINVAL", Errno::INVAL),
    ("EIO", Errno::IO),
    ("ENODEV", Errno::NODEV),
    ("ENOMEM", Errno::NOMEM),
    ("ENOSPC", Errno::NOSPC),
    ("EPERM", Errno::PERM),
    ("ESRCH", Errno::SRCH),
];

impl Mishap {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "take-closids" => Ok(Self::TakeClosids),
            "tasks-die" => Ok(Self::TasksDie),
            "unmount" => Ok(Self::Unmount),
            text => {
                let found = ERRNOS.iter().find(|(name, _)| *name == text);
                let names = ERRNOS.map(|(name, _)| name).join(", ");
                let wrong = || format!("`{text}`: take-closids, tasks-die, unmount or one of {names}");
                found.map(|(_, errno)| Self::Refuse(*errno)).ok_or_else(wrong)
            }
        }
    }
}

/// The faults that are planned, each with how many operations it has seen.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    planned: Vec<(Fault, u32)>,
}

impl Faults {
    pub(crate) fn plan(&mut self, fault: Fault) {
        self.planned.push((fault, 0));
    }

    /// What is due now; every matching fault counts the operation, the first that is due happens.
    pub(crate) fn due(&mut self, operation: Operation, path: &str) -> Option<Mishap> {
        let mut due = None;
        for (fault, seen) in &mut self.planned {
            if fault.operation == operation && matches(&fault.path, path) {
                *seen += 1;
                due = due.or((*seen == fault.nth).then_some(fault.mishap));
            }
        }
        due
    }
}

/// Whether a path matches a pattern in which `*` stands for any characters.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, rest)) => path.strip_prefix(start).is_some_and(|tail| {
            tail.char_indices().map(|(at, _)| at).chain([tail.len()]).any(|at| matches(rest, &tail[at..]))
        }),
    }
}

/// What one operation did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub operation: Operation,
    /// From the mount's root, without a leading slash.
    pub path: String,
    /// What was written; for a rename, where to; else empty.
    pub text: String,
    /// How it ended.
    pub result: Result<(), Errno>,
    /// What `last_cmd_status` would say then, without the last line break.
    pub status: String,
}

impl std::fmt::Display for Entry {
    /// One line, whatever the text holds: `write web/schemata "L3:0=3\n" EINVAL Missing ':'`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = |errno: Errno| {
            ERRNOS
                .iter()
                .find(|(_, known)| *known == errno)
                .map_or_else(|| format!("{errno:?}"), |(name, _)| (*name).to_owned())
        };
        let result = self.result.map_or_else(name, |()| "ok".to_owned());
        let Self { operation, path, text, status, .. } = self;
        write!(f, "{} {path:?} {text:?} {result} {status:?}", operation.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_a_shell_would() {
        for (pattern, path, expected) in [
            ("schemata", "schemata", true),
            ("*/schemata", "schemata", false),
            ("*/schemata", "web/schemata", true),
            ("*", "", true),
            ("web/*", "web/mon_groups/a", true),
            ("*mon*a", "web/mon_groups/a", true),
            ("*mon*b", "web/mon_groups/a", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_nth_operation_is_the_one() {
        let mut faults = Faults::default();
        faults.plan(Fault::write("*/schemata", 2, Errno::BUSY));
        let mut seen = |operation, path| faults.due(operation, path);
        assert_eq!(seen(Operation::Write, "a/schemata"), None);
        assert_eq!(seen(Operation::Read, "a/schemata"), None);
        assert_eq!(seen(Operation::Write, "b/schemata"), Some(Mishap::Refuse(Errno::BUSY)));
        assert_eq!(seen(Operation::Write, "b/schemata"), None);
    }

    #[test]
    fn faults_are_read_from_text() {
        assert_eq!(Fault::parse("write:*/schemata:2:EBUSY"), Ok(Fault::write("*/schemata", 2, Errno::BUSY)));
        assert_eq!(Fault::parse("mkdir:*:1:take-closids").unwrap().mishap, Mishap::TakeClosids);
        for wrong in ["", "write:x:1", "chmod:x:1:EIO", "write:x:0:EIO", "write:x:one:EIO", "write:x:1:EFOO"] {
            assert!(Fault::parse(wrong).is_err(), "{wrong}");
        }
    }
}
