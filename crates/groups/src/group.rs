//! The kinds of groups, and how they are written.

use std::fmt;

/// A container runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runtime {
    /// Docker.
    Docker,
    /// containerd, by itself or under Kubernetes.
    Containerd,
    /// CRI-O.
    Crio,
    /// podman.
    Podman,
    /// LXC, also when started by libvirt or Proxmox.
    Lxc,
    /// systemd-nspawn.
    Nspawn,
    /// A container under Kubernetes whose path does not name the runtime.
    Unknown,
}

/// The quality-of-service class of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Qos {
    /// Requests and limits are equal.
    Guaranteed,
    /// Some requests or limits are set.
    Burstable,
    /// No requests and no limits are set.
    BestEffort,
}

/// A group of processes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// A slice of systemd, such as `system.slice`.
    Slice(String),
    /// A unit of systemd, such as `nginx.service` or `session-3.scope`, with its suffix.
    Unit(String),
    /// A container.
    Container {
        /// what runs it
        runtime: Runtime,
        /// its id; of LXC and nspawn its name
        id: String,
    },
    /// A pod of Kubernetes.
    Pod {
        /// its UID with dashes; of static pods 32 digits without
        uid: String,
        /// its class of service
        qos: Qos,
    },
    /// A virtual machine: its libvirt name, or its Proxmox number.
    Domain(String),
}

/// Number of digits of a container's id that are shown, as `docker ps` does.
const SHOWN: usize = 12;

impl Runtime {
    /// The runtime as it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Containerd => "containerd",
            Self::Crio => "crio",
            Self::Podman => "podman",
            Self::Lxc => "lxc",
            Self::Nspawn => "nspawn",
            Self::Unknown => "container",
        }
    }
}

impl Qos {
    /// The class as it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guaranteed => "guaranteed",
            Self::Burstable => "burstable",
            Self::BestEffort => "besteffort",
        }
    }
}

impl Group {
    /// The kind that stands before the runtime's name of a container or pod; `None` for other
    /// groups.
    pub(crate) const fn named_kind(&self) -> Option<&'static str> {
        match self {
            Self::Container { runtime, .. } => Some(runtime.name()),
            Self::Pod { .. } => Some("pod"),
            Self::Slice(_) | Self::Unit(_) | Self::Domain(_) => None,
        }
    }
}

/// `unit:nginx.service`, `pod:0f1e...`, `docker:3f2a51b0c9d4`, `domain:web`. Ids of 64 digits are
/// shortened.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slice(name) => write!(f, "slice:{name}"),
            Self::Unit(name) => write!(f, "unit:{name}"),
            Self::Container { runtime, id } if is_id(id) => write!(f, "{}:{}", runtime.name(), &id[..SHOWN]),
            Self::Container { runtime, id } => write!(f, "{}:{id}", runtime.name()),
            Self::Pod { uid, .. } => write!(f, "pod:{uid}"),
            Self::Domain(name) => write!(f, "domain:{name}"),
        }
    }
}

/// Whether a text is a container id as OCI runtimes generate them: 64 hexadecimal digits.
pub fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
