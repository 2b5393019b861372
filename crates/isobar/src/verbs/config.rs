//! `isobar config`: prints the default configuration with comments, or checks a configuration.

use super::Verb;
use super::daemon::WATCHING;
use crate::deciders;
use crate::failure::bad_input;
use crate::input;
use crate::text::plain;
use isobar_runtime::policies;
use isobar_runtime::settings::{Config as Settings, DEFAULT_INTERVAL_SECONDS, GroupConfig};
use std::io::Write;
use std::path::PathBuf;

/// Every setting with its meaning, made from the code; a test compares the file with the code.
const DEFAULT: &str = include_str!("../../../../examples/isobar.toml");

/// Print the default configuration with comments, or check one
#[derive(Debug, clap::Parser)]
#[command(
    name = "config",
    after_help = "Example:
  isobar config --default > isobar.toml
  isobar config --check examples/isobar.toml

Exit code of --check: 0 the file is good; 2 it is not: a message names the file, the line or the key, and what would be right."
)]
#[group(required = true, multiple = false)]
pub struct Config {
    /// Print every setting with its default and its meaning
    #[arg(long)]
    default: bool,
    /// Check a whole configuration file, including the settings of every policy
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

impl Verb for Config {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Some(file) = &self.check else { return Ok(out.write_all(DEFAULT.as_bytes())?) };
        let config = Settings::load(Some(file), &[], &input::settings).map_err(bad_input)?;
        for name in policies::names() {
            policies::build(name, &config, &input::settings).map_err(bad_input)?;
        }
        let policy = config.manage.policy.as_deref();
        // If no policy is named, the daemon only watches, but groups may still have policies.
        deciders::check(policy.unwrap_or(WATCHING), &config, &input::settings)?;
        let policy = policy
            .map_or("no policy (the daemon watches and changes nothing)".to_owned(), |name| format!("policy {name}"));
        let interval = config.manage.interval_seconds.unwrap_or(DEFAULT_INTERVAL_SECONDS);
        writeln!(out, "{}", plain(&format!("{}: good: {policy}, every {interval} s", file.display())))?;
        for GroupConfig { only, policy, .. } in &config.manage.group {
            writeln!(out, "{}", plain(&format!("  policy {policy} for {}", only.join(", "))))?;
        }
        Ok(())
    }
}
