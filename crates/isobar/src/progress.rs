//! How far a long run is, for people: a line on stderr that is drawn only on a terminal and only
//! after a while, so that neither pipes nor short runs see it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A run that is over sooner needs no bar.
const WHILE: Duration = Duration::from_secs(2);

/// A bar that appears when it is worth it.
pub struct Progress {
    started: Instant,
    bar: ProgressBar,
    noun: &'static str,
}

impl Progress {
    /// Starts the clock; draws nothing.
    pub fn new() -> Self {
        Self::of("runs")
    }

    /// The same, of something else than runs.
    pub fn of(noun: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar_style(&bar, noun);
        Self { started: Instant::now(), bar, noun }
    }

    /// So many runs are done, of so many; may be called from any thread.
    pub fn tell(&self, done: usize, all: usize) {
        let (done, all) = (u64::try_from(done).unwrap_or(u64::MAX), u64::try_from(all).unwrap_or(u64::MAX));
        if self.bar.length().is_none() {
            bar_style(&self.bar, self.noun); // it may have been a spinner until now
        }
        self.bar.set_length(all);
        self.bar.set_position(self.bar.position().max(done));
        if self.bar.is_hidden() && self.started.elapsed() >= WHILE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr()); // draws nothing where stderr is no terminal
        }
    }

    /// How a search stands, beside the bar.
    pub fn standing(&self, text: &str) {
        if self.started.elapsed() < WHILE {
            return;
        }
        let style = ProgressStyle::with_template("{bar:12} {pos}/{len} {wide_msg}");
        style.into_iter().for_each(|style| self.bar.set_style(style));
        self.bar.set_message(crate::text::plain(text).into_owned());
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Does something that writes to the terminal, out of the way of the bar.
    pub fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        self.bar.suspend(write)
    }

    /// Something is under way that cannot say how far it is: its name and the time that it has
    /// taken, until [`Self::tell`] knows more.
    pub fn busy(&self, what: &str) {
        let style = ProgressStyle::with_template("{spinner} {msg}: {elapsed}");
        style.into_iter().for_each(|style| self.bar.set_style(style));
        self.bar.set_message(crate::text::plain(what).into_owned());
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.bar.enable_steady_tick(Duration::from_secs(1));
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn bar_style(bar: &ProgressBar, noun: &str) {
    let style = ProgressStyle::with_template(&format!("{{wide_bar}} {{pos}}/{{len}} {noun}, {{eta}} left"));
    style.into_iter().for_each(|style| bar.set_style(style));
}
