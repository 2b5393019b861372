//! A request for a study, as it was written. It checks nothing.

use std::time::Duration;

/// A request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Names; `all` stands for all that apply.
    pub algorithms: Vec<String>,
    /// The model.
    pub model: String,
    /// MB/s of each memory controller; `None`: no limit, or for `queueing` the machine's.
    pub max_bandwidth: Option<f64>,
    /// LLCs; `None` = 1, or as many as a given solution uses.
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
    /// The longest that a search may run.
    pub time_limit: Option<Duration>,
}

/// A file of a request: its name and its content.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name, for messages.
    pub file: &'a str,
    /// The content.
    pub text: &'a str,
}

/// A static model by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// The simulator's contention model.
    Queueing,
    /// PBBCache's, bandwidth by excess.
    Simple,
    /// PBBCache's, bandwidth by stalls.
    Stalls,
}

impl ModelKind {
    /// All of them, in the order of the help.
    pub const ALL: [Self; 3] = [Self::Queueing, Self::Simple, Self::Stalls];

    /// As `--model` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queueing => "queueing",
            Self::Simple => "pbbcache-simple",
            Self::Stalls => "pbbcache-stalls",
        }
    }
}
