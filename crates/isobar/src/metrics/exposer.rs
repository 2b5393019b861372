//! The metrics of a run and their endpoint. It takes the moments of a run, whatever else shows
//! them.

use super::latest::LatestMetrics;
use super::serve::Server;
use crate::failure::notify;
use crate::moment::seen_as_moment;
use crate::report::{AfterRun, Reporter};
use isobar_metrics::{About, Exposition, Taken};
use isobar_model::{Seconds, Sensor};
use isobar_runtime::{BoxError, Epoch, Observer, Start, Tally};
use isobar_view::{Moment, View, Watch};
use std::net::SocketAddr;
use std::sync::Arc;

/// What is to be served, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The address.
    pub address: SocketAddr,
    /// What is known before the first epoch.
    pub about: About,
}

/// Serves metrics until it is dropped.
pub struct Exposer {
    watch: Watch,
    exposition: Exposition,
    latest: Arc<LatestMetrics>,
    server: Server,
}

impl Exposer {
    /// Binds the address and starts to answer.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start(wanted: Wanted) -> anyhow::Result<Self> {
        let exposition = Exposition::new(wanted.about);
        let latest = Arc::new(LatestMetrics::new(exposition.families()));
        let server = Server::start(wanted.address, Arc::clone(&latest))?;
        Ok(Self { watch: Watch::default(), exposition, latest, server })
    }

    /// The URL of the metrics.
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.server.address())
    }

    /// Whether other machines can reach the address.
    pub fn is_open(&self) -> bool {
        !self.server.address().ip().is_loopback()
    }

    /// One line: where the metrics are, with a warning if other machines can read them.
    pub fn in_words(&self) -> String {
        let open =
            if self.is_open() { "; other machines can reach this address and read the names of processes" } else { "" };
        format!("metrics at {}{open}", self.url())
    }

    /// Says on stderr where the metrics are.
    pub fn announce(&self) {
        notify(&self.in_words());
    }

    /// Sets how often epochs are expected.
    pub fn every(&mut self, interval: Seconds) {
        self.exposition.every(interval);
        self.latest.every(interval);
        self.latest.begin(self.exposition.families());
    }

    /// The data that the endpoint answers from, for callers that change the interval of a running
    /// loop.
    pub fn latest(&self) -> Arc<LatestMetrics> {
        Arc::clone(&self.latest)
    }

    /// Takes an epoch.
    pub fn take(&mut self, moment: &Moment<'_>, dropped_lines: Option<u64>) {
        let view = self.watch.take(moment);
        self.take_seen(moment, &view, dropped_lines);
    }

    /// Takes an epoch whose view is already computed.
    pub fn take_seen(&mut self, moment: &Moment<'_>, view: &View, dropped_lines: Option<u64>) {
        let Moment { seen, managed, plan, outcome, .. } = *moment;
        let missing: Vec<Sensor> = moment.capabilities.missing.keys().copied().collect();
        self.exposition.take(&Taken { view, seen, managed, plan, outcome, missing: &missing });
        self.latest.hand(self.exposition.families(), dropped_lines);
    }

    /// Shows a run through `shown`, and serves its metrics. `dropped` counts the lines of output
    /// that found no reader.
    pub fn beside<'a>(&'a mut self, shown: &'a mut dyn Reporter, dropped: &'a dyn Fn() -> u64) -> WithMetrics<'a> {
        WithMetrics { exposer: self, shown, dropped }
    }
}

/// Serves the metrics of a run that something else shows.
pub struct WithMetrics<'a> {
    exposer: &'a mut Exposer,
    shown: &'a mut dyn Reporter,
    dropped: &'a dyn Fn() -> u64,
}

impl Observer for WithMetrics<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        self.shown.begin(start)
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        let dropped = (self.dropped)();
        self.exposer.exposition.decided_by(epoch.policy);
        self.exposer.exposition.every(epoch.interval);
        seen_as_moment(epoch, |moment| self.exposer.take(moment, Some(dropped)));
        self.shown.epoch(epoch)
    }
}

impl Reporter for WithMetrics<'_> {
    fn end(&mut self, tally: &Tally, after: &AfterRun) -> anyhow::Result<()> {
        self.shown.end(tally, after)
    }
}
