//! What the loop hands to the thread that answers: the metric families of the last epoch, and when
//! it ended.

use isobar_linux::{own_cpu_time, own_use};
use isobar_metrics::{Families, Family, Form, Own, write};
use isobar_model::Seconds;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A text of the same format that is younger than this is served again, so that a client that asks
/// in a loop costs no more.
const FRESH: Duration = Duration::from_millis(250);
/// The loop counts as stuck after this many intervals without an epoch, and not before this many
/// seconds.
const STUCK: (f64, f64) = (5.0, 30.0);

/// The data that is handed over.
pub struct LatestMetrics {
    now: Mutex<Now>,
    written: Mutex<BTreeMap<Form, (Instant, Arc<str>)>>,
    scrapes: AtomicU64,
    /// Number of requests and connections that were refused or cut.
    pub turned_away: AtomicU64,
}

struct Now {
    families: Arc<Families>,
    since: Instant,
    epochs: u64,
    interval: f64,
    dropped_lines: Option<u64>,
    recording: Option<PathBuf>,
}

impl LatestMetrics {
    /// The state before the first epoch.
    pub fn new(families: Families) -> Self {
        let families = Arc::new(families);
        let now =
            Now { families, since: Instant::now(), epochs: 0, interval: 0.0, dropped_lines: None, recording: None };
        let (scrapes, turned_away) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { now: Mutex::new(now), written: Mutex::default(), scrapes, turned_away }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        // Every change is complete before anything that could panic.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how often epochs are expected.
    pub fn every(&self, interval: Seconds) {
        self.now().interval = interval.0;
    }

    /// Sets the file of the recording, whose size is a metric.
    pub fn records_to(&self, file: &Path) {
        self.now().recording = Some(file.to_owned());
    }

    /// Hands over what is known before the first epoch.
    pub fn begin(&self, families: Families) {
        self.now().families = Arc::new(families);
    }

    /// Hands over an epoch.
    pub fn hand(&self, families: Families, dropped_lines: Option<u64>) {
        let families = Arc::new(families);
        let mut now = self.now();
        let old = std::mem::replace(&mut now.families, families);
        (now.since, now.dropped_lines, now.epochs) = (Instant::now(), dropped_lines, now.epochs + 1);
        drop(now);
        // Freed outside the lock.
        drop(old);
    }

    /// The text for a client.
    pub fn text(&self, form: Form) -> Arc<str> {
        self.scrapes.fetch_add(1, Ordering::Relaxed);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, text)) = written.get(&form)
            && at.elapsed() < FRESH
        {
            return Arc::clone(text);
        }
        let text: Arc<str> = write(self.families(), form).unwrap_or_default().into();
        written.insert(form, (Instant::now(), Arc::clone(&text)));
        text
    }

    fn families(&self) -> Vec<Family> {
        let (families, own) = {
            let now = self.now();
            (Arc::clone(&now.families), self.own(&now))
        };
        let mut all = Families::clone(&families);
        all.extend(own.families());
        all.into_all()
    }

    fn own(&self, now: &Now) -> Own {
        let used = own_use();
        Own {
            cpu_seconds: Some(own_cpu_time().0),
            resident_bytes: used.resident_bytes,
            open_descriptors: used.open_descriptors,
            max_descriptors: used.max_descriptors,
            threads: used.threads,
            start_seconds: used.start_seconds,
            last_epoch_age_seconds: (now.epochs > 0).then(|| now.since.elapsed().as_secs_f64()),
            dropped_lines: now.dropped_lines,
            recording_bytes: now.recording.as_ref().and_then(|file| Some(fs::metadata(file).ok()?.len())),
            scrapes: self.scrapes.load(Ordering::Relaxed),
            turned_away: self.turned_away.load(Ordering::Relaxed),
        }
    }

    /// Whether the loop is alive. The error says how long ago it last completed an epoch, if that
    /// is too long.
    pub fn health(&self) -> Result<(), Duration> {
        let (age, interval) = {
            let now = self.now();
            (now.since.elapsed(), now.interval)
        };
        let (intervals, least) = STUCK;
        if age.as_secs_f64() > (intervals * interval).max(least) { Err(age) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_alternates_formats_gets_texts_that_are_written_already() {
        let latest = LatestMetrics::new(Families::default());
        let forms = [Form::OpenMetrics, Form::Classic];
        let begun = Instant::now();
        let [first, second] = [forms.map(|form| latest.text(form)), forms.map(|form| latest.text(form))];
        let same = first.iter().zip(&second).all(|(one, other)| Arc::ptr_eq(one, other));
        assert!(same || begun.elapsed() >= FRESH);
    }
}
