//! The thread that delivers epochs to the screen. Epochs of this machine come at their own pace.
//! Epochs of a simulated machine or a recording come at any speed, and can be paused.

use super::source::{RecordingState, Source};
use isobar_model::ActionId;
use isobar_tui::Question;
use isobar_view::{View, Watch};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// A request from the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Pause, or go on.
    Pause(bool),
    /// Show one more epoch.
    Step,
    /// Change the speed by a factor.
    Speed(f64),
    /// Take actions back.
    Undo(Vec<ActionId>),
    /// Start or stop recording.
    Record,
    /// End.
    Stop,
}

/// What the screen is told.
pub enum News {
    /// The machine is open.
    Ready,
    /// The next epoch.
    View(Arc<View>),
    /// The speed, or the result of an order, in words.
    Status(String),
    /// The file that is being recorded to; `None` if there is no recording.
    Recording(Option<String>),
    /// An action elsewhere can be taken back, if the user agrees.
    Question(Question),
    /// There are no more epochs.
    Ended(anyhow::Result<()>),
    /// A signal asked to stop.
    Stopped,
}

/// How fast epochs come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the source, which waits by itself.
    Live,
    /// Seconds of the machine that pass in one second.
    Times(f64),
}

/// The slowest and the fastest speed.
const SPEEDS: (f64, f64) = (0.01, 10_000.0);
/// How often a paused feed checks whether a signal asked to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Delivers epochs to the screen.
pub struct Feed<'a> {
    /// Requests from the screen.
    pub orders: &'a Receiver<Order>,
    /// Where epochs go.
    pub news: &'a Sender<News>,
    /// How fast.
    pub pace: Pace,
    /// Whether a signal asked to stop.
    pub stop: &'a dyn Fn() -> bool,
}

impl Feed<'_> {
    /// Shows every epoch of a source until its end, or until the screen is gone.
    ///
    /// # Errors
    /// As [`Source::next`].
    pub fn run(mut self, source: &mut dyn Source) -> anyhow::Result<()> {
        let mut watch = Watch::default();
        let mut paused = false;
        self.notify_speed(paused);
        loop {
            let begun = Instant::now();
            let mut length = 0.0;
            let more = source.next(&mut |moment| {
                let view = watch.take(moment);
                length = view.interval_seconds;
                // A screen that is gone is noticed when orders are received.
                let _ = self.news.send(News::View(Arc::new(view)));
            })?;
            if !more || !self.wait(source, begun, length, &mut paused) {
                return Ok(());
            }
        }
    }

    /// Waits until the next epoch is due, and carries out orders meanwhile. Returns false to end.
    fn wait(&mut self, source: &mut dyn Source, begun: Instant, length: f64, paused: &mut bool) -> bool {
        loop {
            if (self.stop)() {
                return false;
            }
            let due = match self.pace {
                Pace::Live => Duration::ZERO,
                Pace::Times(_) if *paused => LOOK,
                Pace::Times(speed) => {
                    Duration::try_from_secs_f64(length / speed).unwrap_or(LOOK).saturating_sub(begun.elapsed())
                }
            };
            match self.orders.recv_timeout(due.min(LOOK)) {
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Ok(Order::Step) => return true,
                Ok(Order::Undo(ids)) => drop(self.news.send(News::Status(source.undo(&ids)))),
                Ok(Order::Record) => self.record(source),
                Ok(order) => self.obey(order, paused),
                Err(RecvTimeoutError::Timeout) if due <= LOOK && !(*paused && self.pace != Pace::Live) => return true,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Starts or stops a recording and reports that. If the screen is gone, it needs no news.
    fn record(&self, source: &mut dyn Source) {
        let (recording, said) = match source.record() {
            Ok(RecordingState::To(file)) => (Some(file.clone()), format!("recording to {file}")),
            Ok(RecordingState::Ended(words)) => (None, words),
            Err(why) => (None, format!("{why:#}")),
        };
        let _ = self.news.send(News::Recording(recording));
        let _ = self.news.send(News::Status(said));
    }

    fn obey(&mut self, order: Order, paused: &mut bool) {
        match (order, self.pace) {
            (Order::Pause(still), _) => *paused = still,
            (Order::Speed(factor), Pace::Times(speed)) => {
                self.pace = Pace::Times((speed * factor).clamp(SPEEDS.0, SPEEDS.1));
            }
            _ => {}
        }
        self.notify_speed(*paused);
    }

    fn notify_speed(&self, paused: bool) {
        let Pace::Times(speed) = self.pace else { return };
        let still = if paused { ", stands still" } else { "" };
        let _ = self.news.send(News::Status(format!("speed {speed}x{still}")));
    }
}
