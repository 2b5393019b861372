//! The settings of policies: one section a policy, from a configuration file and from `--set POLICY.KEY=VALUE`. Every error
//! is one line that names the key and what would be right.

use crate::registry;
use isobar_model::text::one_line;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings by policy; what is not set keeps its default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    sections: BTreeMap<String, toml::Table>,
}

/// Why settings were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// no policy of this name
    #[error("unknown policy `{name}`: expected one of {known}{hint}")]
    UnknownPolicy {
        /// what was asked for
        name: String,
        /// the policies that there are
        known: String,
        /// the nearest one, in words, or nothing
        hint: String,
    },
    /// a key that is not POLICY.KEY
    #[error("{0}: expected POLICY.KEY=VALUE, such as dino.class_window=10")]
    NotASetting(String),
    /// a section that is no table
    #[error("{0}: expected a section of settings, as [{0}]")]
    NotASection(String),
    /// a value that the policy cannot take
    #[error("{key}: {message}")]
    Value {
        /// the key, as `dino.class_window`
        key: String,
        /// what is wrong and what would be right
        message: String,
    },
}

impl ConfigError {
    pub(crate) fn unknown_policy(name: &str) -> Self {
        let names: Vec<_> = registry::entries().iter().map(|entry| entry.name).collect();
        let hint = nearest(name, &names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Self::UnknownPolicy { name: name.escape_default().to_string(), known: names.join(", "), hint }
    }

    /// A value that is impossible, with what would be right.
    pub(crate) fn impossible(section: &str, key: &str, value: impl std::fmt::Display, expected: &str) -> Self {
        let message = format!("{value} is impossible: expected {expected}");
        Self::Value { key: format!("{section}.{key}"), message }
    }
}

impl Settings {
    /// Settings from the tables of a configuration file, one a policy.
    ///
    /// # Errors
    /// [`ConfigError`] for a section that names no policy or is no table; keys are checked by [`registry::build`].
    pub fn from_tables(tables: toml::Table) -> Result<Self, ConfigError> {
        let mut sections = BTreeMap::new();
        for (name, value) in tables {
            registry::find(&name)?;
            let toml::Value::Table(table) = value else { return Err(ConfigError::NotASection(name)) };
            sections.insert(name, table);
        }
        Ok(Self { sections })
    }

    /// Sets one key, as `--set dino.class_window=1` does; what is no TOML value is taken as text.
    ///
    /// # Errors
    /// [`ConfigError`] where the key is not POLICY.KEY or names no policy.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let parts = key.split_once('.').filter(|(_, name)| !name.is_empty());
        let (section, name) = parts.ok_or_else(|| ConfigError::NotASetting(one_line(key)))?;
        registry::find(section)?;
        let parsed = format!("value = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("value"));
        let value = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
        self.sections.entry(section.to_owned()).or_default().insert(name.to_owned(), value);
        Ok(())
    }

    pub(crate) fn sections(&self) -> impl Iterator<Item = (&String, &toml::Table)> {
        self.sections.iter()
    }

    pub(crate) fn section(&self, name: &str) -> toml::Table {
        self.sections.get(name).cloned().unwrap_or_default()
    }
}

/// The settings of one policy: a struct whose fields all have defaults and refuse unknown keys.
pub trait PolicyConfig: Default + Serialize + DeserializeOwned {
    /// Checks the values against each other.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for the first impossible one.
    fn validate(&self, section: &str) -> Result<(), ConfigError>;

    /// The defaults as a table.
    #[must_use]
    fn defaults() -> toml::Table {
        toml::Table::try_from(Self::default()).unwrap_or_default()
    }

    /// Reads and checks a section.
    ///
    /// # Errors
    /// [`ConfigError::Value`] that names the key.
    fn read(section: &str, table: toml::Table) -> Result<Self, ConfigError> {
        let known = Self::defaults();
        if let Some(key) = table.keys().find(|key| !known.contains_key(*key)) {
            let names: Vec<_> = known.keys().map(String::as_str).collect();
            let expected = if names.is_empty() { "none".to_owned() } else { format!("one of {}", names.join(", ")) };
            let message = format!("unknown key: expected {expected}");
            return Err(ConfigError::Value { key: format!("{section}.{}", key.escape_default()), message });
        }
        let config: Self = serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
            let message = one_line(&error.inner().message().replace('\n', " "));
            ConfigError::Value { key: format!("{section}.{}", error.path()), message }
        })?;
        config.validate(section)?;
        Ok(config)
    }
}

/// The settings of a policy that has none.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct NoSettings {}

impl PolicyConfig for NoSettings {
    fn validate(&self, _: &str) -> Result<(), ConfigError> {
        Ok(())
    }
}

/// Nothing longer than this is near to any known name, and comparing it would take time and memory.
const LONGEST_TYPED: usize = 100;

/// The known name that is nearest to what was typed, if any is near.
fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    if typed.len() > LONGEST_TYPED {
        return None;
    }
    let best = known.iter().map(|name| (strsim::damerau_levenshtein(typed, name), *name)).min()?;
    (best.0 <= 3 && best.0 < best.1.len()).then_some(best.1)
}
