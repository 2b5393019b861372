//! A machine that goes on by other settings while the loop runs.

use isobar_model::Policy;
use isobar_runtime::settings::ManageConfig;

/// Takes other settings, as far as it can without a new start.
pub trait Adjust {
    /// Goes on by these settings, with the sensors at work that this policy uses.
    fn adjust(&mut self, _config: &ManageConfig, _policy: &dyn Policy) {}
}
