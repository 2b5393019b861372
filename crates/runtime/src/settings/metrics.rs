//! The section `[metrics]`: whether and where metrics are served. It opens no socket.

use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Groups that may have series of their own: each costs a dozen series, and more by node.
const GROUPS: std::ops::RangeInclusive<u64> = 1..=1000;

/// The section `[metrics]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsConfig {
    /// Where metrics are served, `ADDRESS:PORT` or a port of the loopback; unset = nowhere.
    pub listen: Option<String>,
    /// Groups of programs that have series of their own, the busiest; the rest is one.
    pub groups: u64,
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Self { listen: None, groups: 20 }
    }
}

impl MetricsConfig {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// What does not, and what would.
    pub(super) fn check(&self) -> Result<(), String> {
        self.address()?;
        let (low, high) = (GROUPS.start(), GROUPS.end());
        let right = GROUPS.contains(&self.groups);
        if right { Ok(()) } else { Err(format!("groups = {}: expected a number from {low} to {high}", self.groups)) }
    }

    /// Where metrics are served, if anywhere.
    ///
    /// # Errors
    /// What is no address, and what would be one.
    pub fn address(&self) -> Result<Option<SocketAddr>, String> {
        let Some(text) = &self.listen else { return Ok(None) };
        address(text).map(Some).map_err(|why| format!("listen = {text:?}: {why}"))
    }
}

/// An address of an endpoint: `ADDRESS:PORT`, or a port of the loopback.
///
/// # Errors
/// What would be right.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let port = || Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), text.trim_start_matches(':').parse().ok()?));
    text.parse().ok().or_else(port).ok_or_else(|| {
        "expected ADDRESS:PORT or a port of this machine's loopback, such as 127.0.0.1:9464, [::1]:9464 or 9464"
            .to_owned()
    })
}
