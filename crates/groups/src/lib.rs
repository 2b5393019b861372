//! What people call a group of processes, from its cgroup path: systemd's units and slices, the
//! containers of Docker, containerd, CRI-O, podman and LXC, Kubernetes's pods, libvirt's domains.
//!
//! It knows how each of them writes paths, on cgroup version 1 and 2, with systemd's driver and
//! without; `tests/paths.txt` has captured ones with their sources. It refuses to guess: a
//! container's name is known to its runtime alone, so that a container is called by its id, and a
//! path of no known form has no groups. Any text is read without a panic.
//!
//! What only a runtime knows, the name of a container or pod, may be given beside the path.
//!
//! [`of_path`] gives all groups of a path, the outermost first; [`label`] the one that a person
//! would call the processes by; [`Selector`] fits groups by what a person types.

#![forbid(unsafe_code)]

mod escape;
mod group;
mod kubernetes;
mod path;
mod segment;
mod selector;

pub use group::{Group, Qos, Runtime};
pub use path::{label, label_named, of_path};
pub use selector::{KINDS, Selector};
