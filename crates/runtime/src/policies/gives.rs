//! Whether a policy may divide cache ways, by its entry and settings: those that cannot decide
//! without ways do, and those with a setting `ways` where it is neither off nor empty.

use isobar_model::Sensor;
use isobar_policy::registry;
use isobar_policy::settings::Settings;
use toml::Value;

/// The setting.
const KEY: &str = "ways";

/// How a policy comes to divide ways.
#[derive(Clone, Debug, PartialEq)]
pub enum Ways {
    /// That is what it is for.
    Always,
    /// By its setting `ways`, which would have to have this value.
    Set(Value),
}

impl Ways {
    /// What would be right instead; `section` is where its settings are.
    pub fn remedy(&self, section: &str, dot: &str) -> String {
        match self {
            Self::Always => "another policy there".to_owned(),
            Self::Set(off) => format!("{section}{dot}{KEY} = {off}"),
        }
    }
}

/// Whether a policy of a name divides ways with these settings.
pub fn ways(policy: &str, settings: &Settings) -> Option<Ways> {
    let entry = registry::find(policy).ok()?;
    if entry.needs.contains(&Sensor::CacheWays) {
        return Some(Ways::Always);
    }
    let default = entry.settings().into_iter().find(|setting| setting.key == KEY)?.default;
    match settings.value(entry.name, KEY).unwrap_or(&default) {
        Value::Boolean(true) => Some(Ways::Set(Value::Boolean(false))),
        Value::String(text) if !text.trim().is_empty() => Some(Ways::Set(Value::String(String::new()))),
        _ => None,
    }
}
