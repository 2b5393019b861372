//! The section `[metrics]`: whether and where metrics are served. This module opens no socket.

use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Number of groups that may have their own series: each costs a dozen series, plus more per node.
const GROUPS: std::ops::RangeInclusive<u64> = 1..=1000;

/// The section `[metrics]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsConfig {
    /// Where metrics are served, `ADDRESS:PORT` or a port of the loopback; unset = nowhere.
    pub listen: Option<String>,
    /// Maximum number of groups of programs with their own series: the busiest. The rest share one.
    pub groups: u64,
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Self { listen: None, groups: 20 }
    }
}

impl MetricsConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// The value that is impossible, and what is expected.
    pub(super) fn check(&self) -> Result<(), String> {
        self.address()?;
        let (low, high) = (GROUPS.start(), GROUPS.end());
        let right = GROUPS.contains(&self.groups);
        if right { Ok(()) } else { Err(format!("groups = {}: expected a number from {low} to {high}", self.groups)) }
    }

    /// Where metrics are served, if anywhere.
    ///
    /// # Errors
    /// An invalid address, and what is expected.
    pub fn address(&self) -> Result<Option<SocketAddr>, String> {
        let Some(text) = &self.listen else { return Ok(None) };
        address(text).map(Some).map_err(|why| format!("listen = {text:?}: {why}"))
    }
}

/// Parses the address of an endpoint: `ADDRESS:PORT`, or a port of the loopback.
///
/// # Errors
/// What is expected.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let port = || Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), text.trim_start_matches(':').parse().ok()?));
    text.parse().ok().or_else(port).ok_or_else(|| {
        "expected ADDRESS:PORT or a port of this machine's loopback, such as 127.0.0.1:9464, [::1]:9464 or 9464"
            .to_owned()
    })
}
