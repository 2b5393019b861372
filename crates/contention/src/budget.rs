//! How much a question may cost. The cost is counted in evaluations of the equations. An evaluation
//! takes time in proportion to the threads and, in Newton's method, to the cube of the number of
//! controllers, links and parts of caches in use.

/// Maximum number of evaluations that a question may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(pub u64);

impl Default for Budget {
    /// A million, which takes seconds for a hundred threads. Ordinary questions take 3 to 20; the
    /// hardest of 30,000 random machines of four nodes took 265.
    fn default() -> Self {
        Self(1_000_000)
    }
}

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// the budget was used up, or the search ended, before every equation held
    #[error("the contention model found no fixed point in {evaluations} evaluations of its equations")]
    NotFound {
        /// evaluations made
        evaluations: u64,
    },
    /// a thread that cannot be asked about
    #[error("thread {thread} of the question {problem}")]
    Thread {
        /// its position
        thread: usize,
        /// what is wrong with it
        problem: &'static str,
    },
    /// a page copy between nodes that are not there
    #[error("the page copy names a node that the machine lacks")]
    Copy,
}

/// Counts evaluations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    spent: u64,
    most: u64,
}

impl Meter {
    pub fn new(budget: Budget) -> Self {
        Self { spent: 0, most: budget.0 }
    }

    /// Evaluations made so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Counts one evaluation, before it is made.
    pub fn spend(&mut self) -> Result<(), NoAnswer> {
        if self.spent >= self.most {
            return Err(self.not_found());
        }
        self.spent += 1;
        Ok(())
    }

    pub fn not_found(&self) -> NoAnswer {
        NoAnswer::NotFound { evaluations: self.spent }
    }
}
