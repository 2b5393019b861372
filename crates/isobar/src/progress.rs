//! Shows people how far a long run is: a line on stderr that appears only on a terminal and only
//! after a while, so that neither pipes nor short runs see it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A run that ends sooner than this shows no bar.
const WHILE: Duration = Duration::from_secs(2);

/// A progress bar that appears once a run has taken a while.
pub struct Progress {
    started: Instant,
    bar: ProgressBar,
    noun: &'static str,
}

impl Progress {
    /// Starts the clock and draws nothing. `noun` names what is counted, in the plural.
    pub fn of(noun: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar_style(&bar, noun);
        Self { started: Instant::now(), bar, noun }
    }

    /// Reports how many runs are done, of how many. May be called from any thread.
    pub fn notify(&self, done: usize, all: usize) {
        let (done, all) = (u64::try_from(done).unwrap_or(u64::MAX), u64::try_from(all).unwrap_or(u64::MAX));
        if self.bar.length().is_none() {
            bar_style(&self.bar, self.noun); // it may have been a spinner until now
        }
        // Runs of another kind, which have another total, are counted from 0.
        let before = if self.bar.length() == Some(all) { self.bar.position() } else { 0 };
        self.bar.set_length(all);
        self.bar.set_position(before.max(done));
        if self.started.elapsed() >= WHILE {
            self.appear();
        }
    }

    fn appear(&self) {
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr()); // draws nothing where stderr is no terminal
        }
    }

    /// Shows the state of a search beside the bar.
    pub fn standing(&self, text: &str) {
        if self.started.elapsed() < WHILE {
            return;
        }
        style(&self.bar, "{bar:12} {pos}/{len} {wide_msg}");
        self.bar.set_message(crate::text::plain(text).into_owned());
        self.appear();
    }

    /// Does something that writes to the terminal while the bar is hidden.
    pub fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        self.bar.suspend(write)
    }

    /// Shows the name of a task that cannot report progress, and how long it has taken, until
    /// [`Self::notify`] is called.
    pub fn busy(&self, what: &str) {
        style(&self.bar, "{spinner} {msg}: {elapsed}");
        self.bar.set_message(crate::text::plain(what).into_owned());
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.bar.enable_steady_tick(Duration::from_secs(1));
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn bar_style(bar: &ProgressBar, noun: &str) {
    style(bar, &format!("{{wide_bar}} {{pos}}/{{len}} {noun}, {{eta}} left"));
}

fn style(bar: &ProgressBar, template: &str) {
    ProgressStyle::with_template(template).into_iter().for_each(|style| bar.set_style(style));
}
