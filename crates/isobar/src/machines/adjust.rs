//! A machine that can take new settings while the loop runs.

use isobar_model::Policy;
use isobar_runtime::settings::ManageConfig;

/// Takes new settings as far as possible without a restart.
pub trait Adjust {
    /// Applies these settings, and switches on the sensors that this policy uses.
    fn adjust(&mut self, _config: &ManageConfig, _policy: &dyn Policy) {}
}
