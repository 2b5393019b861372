//! What the registry knows of a policy: its name, its paper, what it decides, what it needs, and
//! how it is made from its settings. This file knows no policy.

use crate::settings::{ConfigError, PolicyConfig, Setting};
use isobar_model::{Policy, Sensor};

/// One policy that `--policy` accepts.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Canonical name; also the name of its section in the configuration.
    pub name: &'static str,
    /// The paper that it comes from.
    pub paper: &'static str,
    /// What it decides, in a few words.
    pub summary: &'static str,
    /// What it moves.
    pub moves: Moves,
    /// The sensors without which it cannot decide.
    pub needs: &'static [Sensor],
    /// How it is made: a [`PolicyMaker`].
    pub make: &'static dyn Make,
}

/// What a policy moves. Anything else that moves the same (NUMA balancing, for example) works
/// against it or for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Nothing.
    Nothing,
    /// Threads; memory stays.
    Threads,
    /// Threads and pages.
    ThreadsAndPages,
    /// Pages; threads stay.
    Pages,
    /// The nodes of new pages; threads and existing pages stay.
    NewPages,
}

impl Entry {
    /// Its settings with their defaults, in the order of the documentation.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        self.make.settings()
    }

    /// Makes the policy from the section of its settings.
    ///
    /// # Errors
    /// [`ConfigError::Value`], which names the key.
    pub fn build(&self, section: toml::Table) -> Result<Box<dyn Policy>, ConfigError> {
        self.make.build(self.name, section)
    }
}

/// For the implementation of a policy: its name and needs are those of its file's `ENTRY`.
macro_rules! as_registered {
    () => {
        fn name(&self) -> &'static str {
            ENTRY.name
        }

        fn needs(&self) -> &'static [isobar_model::Sensor] {
            ENTRY.needs
        }
    };
}
pub(crate) use as_registered;

/// What [`PolicyMaker`] can do, whatever the types of settings and policy.
pub trait Make: Sync {
    /// The settings with their defaults.
    fn settings(&self) -> Vec<Setting>;

    /// Makes the policy from the section of that name.
    ///
    /// # Errors
    /// [`ConfigError::Value`], which names the key.
    fn build(&self, name: &str, section: toml::Table) -> Result<Box<dyn Policy>, ConfigError>;
}

/// How a policy is made: from its default settings, and by a function of the settings.
pub struct PolicyMaker<C, P> {
    /// The default settings.
    pub defaults: fn() -> C,
    /// Makes the policy from checked settings.
    pub new: fn(C) -> P,
}

impl<C: PolicyConfig, P: Policy + 'static> Make for PolicyMaker<C, P> {
    fn settings(&self) -> Vec<Setting> {
        (self.defaults)().settings()
    }

    fn build(&self, name: &str, section: toml::Table) -> Result<Box<dyn Policy>, ConfigError> {
        Ok(Box::new((self.new)((self.defaults)().with(name, section)?)))
    }
}
