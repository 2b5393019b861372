//! How an assertion ends: it holds, it does not, or this machine lacks what it needs.

use std::fmt;

/// What an assertion returns; `Ok` where it holds.
pub type Checked = Result<(), Stop>;

/// A name with its body, as the modules list them.
pub(crate) type Entry<B> = (&'static str, fn(&B) -> Checked);

/// Why an assertion did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It does not hold; what was expected and what was found.
    Fails(String),
    /// It cannot be tested here.
    Lacks(Lack),
}

/// What a machine lacks for an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Nodes with CPUs and memory.
    Nodes {
        /// needed
        needs: usize,
        /// there
        has: usize,
    },
    /// CPUs that programs may use.
    Cpus {
        /// needed
        needs: usize,
        /// there
        has: usize,
    },
    /// Cache ways that can be allocated, in words. Hardware that has them is rare, so this is the
    /// only reason to skip that is accepted where nothing may be skipped.
    CacheWays(String),
    /// Anything else, in words.
    Other(String),
}

/// How one assertion ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not hold, and what was found.
    Fail(String),
    /// It was not tested, and why.
    Skip(Lack),
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes { needs, has } => {
                write!(f, "needs {needs} nodes with CPUs and memory, this machine has {has}")
            }
            Self::Cpus { needs, has } => write!(f, "needs {needs} CPUs that programs may use, this machine has {has}"),
            Self::CacheWays(why) | Self::Other(why) => f.write_str(why),
        }
    }
}

impl From<Checked> for Verdict {
    fn from(checked: Checked) -> Self {
        match checked {
            Ok(()) => Self::Pass,
            Err(Stop::Fails(how)) => Self::Fail(how),
            Err(Stop::Lacks(lack)) => Self::Skip(lack),
        }
    }
}

impl From<Lack> for Stop {
    fn from(lack: Lack) -> Self {
        Self::Lacks(lack)
    }
}

/// An error of the machine is never what an assertion expects: what goes wrong with one action is
/// an outcome.
impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fails(format!("the machine failed: {error}"))
    }
}

/// Ends the assertion with a message unless something holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        let holds: bool = $holds;
        if !holds {
            return Err($crate::verdict::Stop::Fails(format!($($message)+)));
        }
    };
}
pub(crate) use ensure;
