//! The measurements of the experiments, from which claims and figures are made.

use super::clones::Clones;
use super::pair::Pair;
use super::profiles::Profiles;
use super::runs::Runs;

/// All measurements.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub profiles: Profiles,
    pub pair: Vec<Pair>,
    pub clones: Clones,
    pub runs: Runs,
}
