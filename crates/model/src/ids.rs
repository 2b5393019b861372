//! Identifiers. Each is a separate type, so that a CPU number cannot be used as a node number.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

/// An action that was applied, counted from 1 since the run began. People use this number to have
/// the action taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActionId(pub u64);

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

id!(
    /// A NUMA memory node, by the kernel's number (`/sys/devices/system/node/nodeN`). Numbers may
    /// have gaps; a node may have no CPU.
    NodeId
);
id!(
    /// A last-level cache and the CPUs that share it: the kernel's cache id if it has one, or else
    /// a number by first CPU.
    LlcId
);
id!(
    /// A logical CPU (hardware thread), by the kernel's number.
    CpuId
);
id!(
    /// A physical core: CPUs with the same core, LLC and node are SMT siblings. isobar numbers a
    /// core by its lowest online CPU, because the kernel's `core_id` repeats from package to
    /// package.
    CoreId
);
id!(
    /// A process (thread-group) id.
    Pid
);
id!(
    /// A thread id; unique on the machine while the thread lives.
    Tid
);
