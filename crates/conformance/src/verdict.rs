//! How an assertion ends: it holds, it does not, or this machine lacks what it needs.

/// What an assertion returns; `Ok` where it holds.
pub type Checked = Result<(), Stop>;

/// Something that every machine keeps: its name, in plain words the call of the seam and what holds
/// of it, unique; and how it is checked, on a machine of its own.
pub type Assertion<B> = (&'static str, fn(&B) -> Checked);

/// Why an assertion did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It does not hold; what was expected and what was found.
    Fails(String),
    /// It cannot be tested here; what this machine lacks.
    Lacks(String),
    /// It cannot be tested here, since no cache ways can be allocated. Hardware that has them is
    /// rare, so this is the only reason to skip that is accepted where nothing may be skipped.
    LacksWays(String),
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
