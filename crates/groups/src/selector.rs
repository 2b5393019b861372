//! What a person types to choose groups: a kind, a colon, and a name, id or pattern.

use crate::group::Group;
use crate::path::{label, of_path};
use std::fmt;

/// The words that may stand before the colon, and what follows each.
pub const KINDS: [(&str, &str); 13] = [
    ("unit", "a systemd unit, such as unit:nginx.service; without a suffix a service"),
    ("slice", "a systemd slice, such as slice:batch.slice"),
    ("container", "a container's name, its id, or the first 8 digits of that or more"),
    ("docker", "the same of Docker"),
    ("containerd", "the same of containerd"),
    ("crio", "the same of CRI-O"),
    ("podman", "the same of podman"),
    ("lxc", "an LXC container's name"),
    ("nspawn", "a systemd-nspawn machine's name"),
    ("pod", "a Kubernetes pod as NAMESPACE/NAME or NAME, its UID, or the first 8 digits of that or more"),
    ("qos", "pods of a class: guaranteed, burstable or besteffort"),
    ("domain", "a libvirt domain's name"),
    ("vm", "the same"),
];

/// Number of digits of an id that suffice.
const ENOUGH: usize = 8;

/// A kind, and the text that was typed after the colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    kind: &'static str,
    name: String,
}

impl Selector {
    /// Reads `unit:nginx.service`; `None` if no known kind stands before a colon.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        let (kind, _) = KINDS.iter().find(|(known, _)| *known == kind)?;
        Some(Self { kind, name: name.to_owned() })
    }

    /// Checks a text that may be a selector or a plain name. A text is a typing error if a word
    /// that is no known kind stands before its first colon, and the text after the colon is not
    /// empty and begins with neither a space nor a colon.
    ///
    /// # Errors
    /// One line with the known kinds, or the form `KIND:NAME` if the name is empty.
    pub fn check(text: &str) -> Result<(), String> {
        let Some((kind, name)) = text.split_once(':') else { return Ok(()) };
        let is_word = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphabetic());
        if KINDS.iter().any(|(known, _)| *known == kind) {
            let nothing = || format!("`{text}` names no {kind}: expected {kind}:NAME");
            return if name.is_empty() { Err(nothing()) } else { Ok(()) };
        }
        if !is_word || name.is_empty() || name.starts_with([' ', ':']) {
            return Ok(());
        }
        let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
        Err(format!(
            "`{text}`: there are no groups of the kind `{kind}`: expected one of {}; for a process of that name write {kind}*",
            kinds.join(", ")
        ))
    }

    /// The text that was typed after the colon.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the selector matches a group; `globs` says whether the typed text, as a pattern,
    /// matches a text.
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

    /// Whether the selector matches any group of a cgroup path. `name` is the runtime's name for
    /// the pod or container by which the path is labelled.
    pub fn fits_path(&self, path: &str, name: Option<&str>, globs: impl Fn(&str) -> bool) -> bool {
        of_path(path).iter().any(|group| self.fits(group, &globs))
            || name.is_some_and(|name| label(path).is_some_and(|label| self.fits_name(&label, name, &globs)))
    }

    /// Matches `pod:default/web` or `pod:web`, `docker:web` or `container:web`.
    fn fits_name(&self, label: &Group, name: &str, globs: impl Fn(&str) -> bool) -> bool {
        let own = label.named_kind();
        let is_kind = own == Some(self.kind) || (self.kind == "container" && own.is_some_and(|kind| kind != "pod"));
        let bare = name.rsplit_once('/').map_or(name, |(_, bare)| bare);
        is_kind && [name, bare].into_iter().any(|name| name == self.name || globs(name))
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
