//! Planned faults and the journal. Faults are what the actuator must survive: a refusal at the
//! worst moment, another tool that takes the last CLOSID, a task that dies while it is moved, a
//! mount that vanishes. The journal records what it wrote. Neither is part of the kernel's
//! behaviour.

use rustix::io::Errno;

/// A request that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// One `write` on a file.
    Write,
    /// Making a group.
    Mkdir,
    /// Removing a group.
    Rmdir,
}

/// What happens when a fault is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultEffect {
    /// The operation changes nothing and fails with this errno; `last_cmd_status` says nothing of
    /// it.
    Refuse(Errno),
    /// Just before the operation, another tool makes control groups (`other-tool-N`) until no
    /// CLOSID is left.
    TakeClosids,
    /// The tasks named in the text are dead from now on, although `/proc` may still show them.
    TasksDie,
    /// Just after the operation, the mount is gone (as after `umount -l`): open files still work,
    /// paths lead to the empty folder below.
    Unmount,
}

/// A fault, which happens once: at the next operation of this kind on a path that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of operation.
    pub operation: Operation,
    /// The path from the mount's root, without a leading slash; `*` stands for any characters.
    pub path: String,
    /// What happens in that case.
    pub mishap: FaultEffect,
}

impl Fault {
    /// A fault that happens at the next operation of this kind on a path that matches.
    #[must_use]
    pub fn at(operation: Operation, path: &str, mishap: FaultEffect) -> Self {
        Self { operation, path: path.to_owned(), mishap }
    }

    fn is_due(&self, operation: Operation, path: &str) -> bool {
        self.operation == operation && matches(&self.path, path)
    }
}

/// The faults that have not happened yet.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    planned: Vec<Fault>,
}

impl Faults {
    pub(crate) fn plan(&mut self, fault: Fault) {
        self.planned.push(fault);
    }

    /// What happens now: among the faults that are due, the one that was planned first.
    pub(crate) fn due(&mut self, operation: Operation, path: &str) -> Option<FaultEffect> {
        let due = self.planned.iter().position(|fault| fault.is_due(operation, path))?;
        Some(self.planned.remove(due).mishap)
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

/// One operation and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub operation: Operation,
    /// The path from the mount's root, without a leading slash.
    pub path: String,
    /// The text that was written; otherwise empty.
    pub text: String,
    /// How it ended.
    pub result: Result<(), Errno>,
    /// What `last_cmd_status` says afterwards, without the last line break.
    pub status: String,
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
    fn a_fault_happens_once_and_where_it_was_planned() {
        let mut faults = Faults::default();
        faults.plan(Fault::at(Operation::Write, "*/schemata", FaultEffect::Refuse(Errno::BUSY)));
        let mut seen = |operation, path| faults.due(operation, path);
        assert_eq!(seen(Operation::Write, "a/tasks"), None);
        assert_eq!(seen(Operation::Mkdir, "a/schemata"), None);
        assert_eq!(seen(Operation::Write, "b/schemata"), Some(FaultEffect::Refuse(Errno::BUSY)));
        assert_eq!(seen(Operation::Write, "b/schemata"), None);
    }
}
