//! What the experiments measured, from which claims and figures are made.

use super::clones::Clones;
use super::pair::Pair;
use super::profiles::Profiles;
use super::runs::Runs;

/// All that was measured.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub profiles: Profiles,
    pub pair: Vec<Pair>,
    pub clones: Clones,
    pub runs: Runs,
}
