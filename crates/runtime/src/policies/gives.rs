//! Whether a policy may divide cache ways, judged by its registry entry and its settings. A policy
//! divides ways if it cannot decide without them, or if it has a setting `ways` that is neither off
//! nor empty.

use isobar_model::Sensor;
use isobar_policy::registry;
use isobar_policy::settings::Settings;
use toml::Value;

/// The setting.
const KEY: &str = "ways";

/// Why a policy divides ways.
#[derive(Clone, Debug, PartialEq)]
pub enum Ways {
    /// It is made for that.
    Always,
    /// Its setting `ways` asks for it; with this value it would not.
    Set(Value),
}

impl Ways {
    /// How to change that; `section` is where the policy's settings are.
    pub fn remedy(&self, section: &str, dot: &str) -> String {
        match self {
            Self::Always => "another policy there".to_owned(),
            Self::Set(off) => format!("{section}{dot}{KEY} = {off}"),
        }
    }
}

/// Whether a policy with this name and these settings divides ways.
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
