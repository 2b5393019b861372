//! The settings of policies: one section per policy, from a configuration file and from
//! `--set POLICY.KEY=VALUE`. Every error is one line that names the key and what would be right.
//!
//! `settings!` declares a section: each key with its type, its default and, as its doc comment, its
//! meaning. Help, the example configuration and the documentation are made from that. This file
//! knows how a section is read. It does not know which policies there are: [`crate::registry`]
//! does.

use isobar_model::text::one_line;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Display;

/// Settings by policy; a key that is not set keeps its default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    sections: BTreeMap<String, toml::Table>,
}

/// Why settings were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
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
    /// An error about one key.
    pub(crate) fn of(section: &str, key: impl Display, message: String) -> Self {
        Self::Value { key: format!("{section}.{key}"), message }
    }
}

impl Settings {
    /// Takes settings from the tables of a configuration file, one per policy. Names and keys are
    /// checked by [`crate::registry::build`].
    ///
    /// # Errors
    /// [`ConfigError::NotASection`] for a section that is not a table.
    pub fn from_tables(tables: toml::Table) -> Result<Self, ConfigError> {
        let section = |(name, value)| match value {
            toml::Value::Table(table) => Ok((name, table)),
            _ => Err(ConfigError::NotASection(name)),
        };
        Ok(Self { sections: tables.into_iter().map(section).collect::<Result<_, _>>()? })
    }

    /// Sets one key, as `--set dino.class_window=1` does. A value that is not valid TOML is taken
    /// as text.
    ///
    /// # Errors
    /// [`ConfigError::NotASetting`] if the key is not POLICY.KEY.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let (section, name) = split(key)?;
        let parsed = format!("value = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("value"));
        let value = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
        self.sections.entry(section.to_owned()).or_default().insert(name.to_owned(), value);
        Ok(())
    }

    /// Replaces these settings by others, key by key.
    pub fn lay_over(&mut self, others: Self) {
        for (name, table) in others.sections {
            self.sections.entry(name).or_default().extend(table);
        }
    }

    /// The value set for a key of a policy, if any is.
    #[must_use]
    pub fn value(&self, policy: &str, key: &str) -> Option<&toml::Value> {
        self.sections.get(policy)?.get(key)
    }

    /// Every section, by the name of its policy.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (&String, &toml::Table)> {
        self.sections.iter()
    }

    /// The section of a policy; empty if nothing is set.
    pub(crate) fn section(&self, name: &str) -> toml::Table {
        self.sections.get(name).cloned().unwrap_or_default()
    }
}

/// The policy and the key of `POLICY.KEY`.
pub(crate) fn split(key: &str) -> Result<(&str, &str), ConfigError> {
    let parts = key.split_once('.').filter(|(_, name)| !name.is_empty());
    parts.ok_or_else(|| ConfigError::NotASetting(one_line(key)))
}

/// Refuses a value that is not possible, and says what would be right.
pub(crate) fn check(
    possible: bool,
    section: &str,
    key: &str,
    value: impl Display,
    expected: impl Display,
) -> Result<(), ConfigError> {
    let refusal = || ConfigError::of(section, key, format!("{value} is impossible: expected {expected}"));
    if possible { Ok(()) } else { Err(refusal()) }
}

/// Refuses a value below `least`.
pub(crate) fn at_least<T: Copy + PartialOrd + Display>(
    section: &str,
    key: &str,
    value: T,
    least: T,
) -> Result<(), ConfigError> {
    check(value >= least, section, key, value, format_args!("at least {least}"))
}

/// Refuses a value that is not between two bounds.
pub(crate) fn between(section: &str, key: &str, value: f64, least: f64, most: f64) -> Result<(), ConfigError> {
    check((least..=most).contains(&value), section, key, value, format_args!("{least} to {most}"))
}

/// One key of a section.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name.
    pub key: &'static str,
    /// Its meaning, its unit, and the section of the paper that it comes from.
    pub meaning: &'static str,
    /// Its default value.
    pub default: toml::Value,
}

/// The settings of one policy; as a value, its defaults.
pub trait PolicyConfig: Sized {
    /// The keys that a section may have, in the order of the documentation.
    fn settings(&self) -> Vec<Setting>;

    /// Whether a key belongs to these settings.
    fn has(key: &str) -> bool;

    /// Reads and checks a section that has every key.
    ///
    /// # Errors
    /// [`ConfigError::Value`], which names the key.
    fn parse(section: &str, table: toml::Table) -> Result<Self, ConfigError>;

    /// These settings, with the keys of a section replaced.
    ///
    /// # Errors
    /// [`ConfigError::Value`], which names the key.
    fn with(self, section: &str, table: toml::Table) -> Result<Self, ConfigError> {
        let own = self.settings().into_iter().map(|setting| (setting.key.to_owned(), setting.default));
        let mut all: toml::Table = own.collect();
        if let Some(key) = table.keys().find(|key| !all.contains_key(*key)) {
            let names: Vec<_> = all.keys().map(String::as_str).collect();
            let expected = if names.is_empty() { "none".to_owned() } else { format!("one of {}", names.join(", ")) };
            return Err(ConfigError::of(section, key.escape_default(), format!("unknown key: expected {expected}")));
        }
        all.extend(table);
        Self::parse(section, all)
    }
}

/// The keys of a section with their meanings, in order. `settings!` implements it from the doc
/// comments.
pub trait Documented {
    /// Key and doc comment.
    const KEYS: &'static [(&'static str, &'static str)];
}

/// A section that `settings!` declared. A key whose default is `None` is not a setting of the
/// policy.
pub trait Section: Documented + Serialize + DeserializeOwned {
    /// Checks the values against each other.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for the first impossible one.
    fn validate(&self, section: &str) -> Result<(), ConfigError>;
}

impl<S: Section> PolicyConfig for S {
    fn settings(&self) -> Vec<Setting> {
        let values = toml::Table::try_from(self).unwrap_or_default();
        let setting = |(key, doc): &(&'static str, &'static str)| {
            Some(Setting { key, meaning: doc.trim(), default: values.get(*key)?.clone() })
        };
        S::KEYS.iter().filter_map(setting).collect()
    }

    fn has(key: &str) -> bool {
        S::KEYS.iter().any(|(own, _)| *own == key)
    }

    fn parse(section: &str, table: toml::Table) -> Result<Self, ConfigError> {
        let config: Self = serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
            let (key, message) = (error.path(), one_line(&error.inner().message().replace('\n', " ")));
            let text =
                message.strip_prefix("invalid type: string ").and_then(|it| it.strip_suffix(", expected a sequence"));
            let list = text.map(|text| format!("expected a list, such as --set '{section}.{key}=[{text}]'"));
            ConfigError::of(section, key, list.unwrap_or(message))
        })?;
        config.validate(section)?;
        Ok(config)
    }
}

/// Two sets of settings in one section.
impl<A: PolicyConfig, B: PolicyConfig> PolicyConfig for (A, B) {
    fn settings(&self) -> Vec<Setting> {
        self.0.settings().into_iter().chain(self.1.settings()).collect()
    }

    fn has(key: &str) -> bool {
        A::has(key) || B::has(key)
    }

    fn parse(section: &str, table: toml::Table) -> Result<Self, ConfigError> {
        let (first, second) = table.into_iter().partition(|(key, _)| A::has(key));
        Ok((A::parse(section, first)?, B::parse(section, second)?))
    }
}

/// Declares the settings of a policy: a struct whose fields are written with their defaults, and
/// whose doc comments are kept for help and documentation.
macro_rules! settings {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])+ pub $key:ident: $kind:ty = $default:expr,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $key: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $crate::settings::Documented for $name {
            const KEYS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($key), concat!($($doc),+)),)*];
        }
    };
}
pub(crate) use settings;

settings! {
    /// The settings of a policy that has none.
    pub struct NoSettings {}
}

impl Section for NoSettings {
    fn validate(&self, _: &str) -> Result<(), ConfigError> {
        Ok(())
    }
}
