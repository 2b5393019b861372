//! A request for a study, as the user wrote it. Checks nothing.

use std::time::Duration;

/// A request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Algorithm names; `all` stands for all that apply.
    pub algorithms: Vec<String>,
    /// Name of the model.
    pub model: String,
    /// MB/s of each memory controller; `None`: no limit, or for `queueing` the machine's bandwidth.
    pub max_bandwidth: Option<f64>,
    /// Number of LLCs; `None` = 1, or as many as a given solution uses.
    pub groups: Option<usize>,
    /// Whether all groups share one memory controller.
    pub uma: bool,
    /// Programs that fit on one LLC; `None` = as many as an even spread needs.
    pub cores: Option<usize>,
    /// Ways of every LLC; `None` = as many as the profiles have.
    pub ways: Option<usize>,
    /// What exact searches optimise.
    pub objective: String,
    /// The machine that gives `queueing` its LLC and controller.
    pub machine: Option<String>,
    /// Time limit of a search.
    pub time_limit: Option<Duration>,
}

/// An input file of a request: its name and its content.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name, for messages.
    pub file: &'a str,
    /// The content.
    pub text: &'a str,
}

/// A static model, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// The simulator's contention model.
    Queueing,
    /// PBBCache's, with bandwidth by excess.
    Simple,
    /// PBBCache's, with bandwidth by stalls.
    Stalls,
}

impl ModelKind {
    /// All models, in the order of the help.
    pub const ALL: [Self; 3] = [Self::Queueing, Self::Simple, Self::Stalls];

    /// The name that `--model` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queueing => "queueing",
            Self::Simple => "pbbcache-simple",
            Self::Stalls => "pbbcache-stalls",
        }
    }
}
