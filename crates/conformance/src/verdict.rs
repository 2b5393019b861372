//! The result of an assertion: it holds, it does not hold, or this machine lacks what it needs.

/// What an assertion returns; `Ok` if it holds.
pub type Checked = Result<(), Stop>;

/// A guarantee of every machine. The name is unique and says in plain words which call of the seam
/// is meant and what holds. The function checks it on a machine of its own.
pub type Assertion<B> = (&'static str, fn(&B) -> Checked);

/// Why an assertion was not completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It does not hold: what was expected and what was found.
    Fails(String),
    /// It cannot be tested here: what this machine lacks.
    Lacks(String),
    /// It cannot be tested here because no cache ways can be allocated. Hardware with allocatable
    /// ways is rare, so this is the only reason for a skip that is accepted when nothing else may
    /// be skipped.
    LacksWays(String),
}

/// No assertion expects an error of the machine itself: if one action goes wrong, that is an
/// outcome.
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
