//! What a person types to choose groups: a kind, a colon, and a name or id, which may be a pattern.

use crate::group::Group;
use std::fmt;

/// What may stand before the colon, and what comes behind it.
pub const KINDS: [(&str, &str); 13] = [
    ("unit", "a systemd unit, such as unit:nginx.service; without a suffix a service"),
    ("slice", "a systemd slice, such as slice:batch.slice"),
    ("container", "a container's id, or its first 8 digits or more"),
    ("docker", "the same of Docker"),
    ("containerd", "the same of containerd"),
    ("crio", "the same of CRI-O"),
    ("podman", "the same of podman"),
    ("lxc", "an LXC container's name"),
    ("nspawn", "a systemd-nspawn machine's name"),
    ("pod", "a Kubernetes pod's UID, or its first 8 digits or more"),
    ("qos", "pods of a class: guaranteed, burstable or besteffort"),
    ("domain", "a libvirt domain's name"),
    ("vm", "the same"),
];

/// Digits of an id that are enough.
const ENOUGH: usize = 8;

/// A kind and what was typed behind the colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    kind: &'static str,
    name: String,
}

impl Selector {
    /// Reads `unit:nginx.service`; `None` where no kind stands before a colon.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        let (kind, _) = KINDS.iter().find(|(known, _)| *known == kind)?;
        Some(Self { kind, name: name.to_owned() })
    }

    /// What was typed behind the colon.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it fits a group; `globs` says whether what was typed is a pattern for a text.
    #[must_use]
    pub fn fits(&self, group: &Group, globs: impl Fn(&str) -> bool) -> bool {
        let is = |text: &str| text == self.name || globs(text);
        match (self.kind, group) {
            ("unit", Group::Unit(unit)) => is(unit) || unit.strip_suffix(".service").is_some_and(is),
            ("slice", Group::Slice(slice)) => is(slice) || slice.strip_suffix(".slice").is_some_and(is),
            ("pod", Group::Pod { uid, .. }) => is(uid) || self.begins(uid),
            ("qos", Group::Pod { qos, .. }) => is(qos.name()),
            ("domain" | "vm", Group::Domain(name)) => is(name),
            (kind, Group::Container { runtime, id }) if kind == "container" || kind == runtime.name() => {
                is(id) || self.begins(id)
            }
            _ => false,
        }
    }

    fn begins(&self, id: &str) -> bool {
        self.name.len() >= ENOUGH && id.starts_with(&self.name.to_ascii_lowercase())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.name)
    }
}
