//! The error type of this crate: why an experiment could not be made. Each message is one line; the
//! error of the crate below stays attached as the cause.

use isobar_runtime::RunError;
use isobar_sim::Workload;
use isobar_sim::schedules::TooMany;
use isobar_study::StudyError;

/// Why an experiment could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// a policy panicked or made a plan that cannot be carried out, or the simulator has no answer
    #[error(transparent)]
    Run(#[from] RunError),
    /// a policy that does not take its settings
    #[error(transparent)]
    Settings(#[from] isobar_policy::registry::RegistryError),
    /// an application never completed
    #[error("{app} did not complete within run.max_seconds = {max_seconds}: raise it or lower run.instructions_factor")]
    Unfinished {
        /// the application
        app: String,
        /// the limit
        max_seconds: f64,
    },
    /// more starts or mappings than were to be evaluated
    #[error("{what}: {error}")]
    TooMany {
        /// what was to be evaluated
        what: &'static str,
        /// how many there are
        #[source]
        error: TooMany,
    },
    /// a machine, program or workload that is not right
    #[error(transparent)]
    Sim(#[from] isobar_sim::SimError),
    /// how programs spread their accesses over pages, where what ships is not right
    #[error("sra/programs.toml: {0}")]
    Spread(String),
    /// a program whose trace cannot be made
    #[error(transparent)]
    Trace(#[from] isobar_pages::synthetic::RecipeError),
    /// a page usage that cannot be placed
    #[error(transparent)]
    Pages(#[from] isobar_pages::PagesError),
    /// a page profile that ships and cannot be read
    #[error("the page profile of {name}: {cause}")]
    Profile {
        /// its file
        name: &'static str,
        /// why
        #[source]
        cause: isobar_pages::trace::TraceError,
    },
    /// a machine whose nodes cannot all run threads
    #[error("page profiles need a machine with CPUs on every node")]
    Seats,
    /// misses of another run
    #[error("the misses are from another run: {0}")]
    Misses(String),
    /// a static study that could not be made
    #[error(transparent)]
    Study(#[from] StudyError),
    /// an approach that found no solution of a static question
    #[error("{approach}: {cause}")]
    Approach {
        /// the algorithm
        approach: &'static str,
        /// its reason
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// no threads to compute with
    #[error("{jobs} worker threads cannot be started: {cause}; ask for fewer jobs")]
    Jobs {
        /// the threads asked for
        jobs: usize,
        /// the system's reason
        #[source]
        cause: rayon::ThreadPoolBuildError,
    },
}

impl LabError {
    /// An application that never completed.
    pub(crate) fn unfinished(workload: &Workload, app: &str) -> Self {
        Self::Unfinished { app: app.to_owned(), max_seconds: workload.run.max_seconds }
    }
}
