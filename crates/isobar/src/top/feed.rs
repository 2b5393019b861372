//! The thread that epochs come from: at their own pace from this machine, at any speed from a
//! simulated one or a recording, which also stand still when they are told to.

use super::source::{Source, Taped};
use isobar_model::ActionId;
use isobar_tui::Question;
use isobar_view::{View, Watch};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// What the screen asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Stand still, or go on.
    Pause(bool),
    /// One epoch more.
    Step,
    /// Faster or slower, by a factor.
    Speed(f64),
    /// Take actions back.
    Undo(Vec<ActionId>),
    /// Begin to record, or end that.
    Record,
    /// End.
    Stop,
}

/// What the screen hears.
pub enum News {
    /// The machine is open.
    Ready,
    /// The next epoch.
    View(Arc<View>),
    /// How fast it goes, or what came of an order, in words.
    Status(String),
    /// What is recorded to; `None`: nothing.
    Recording(Option<String>),
    /// Something can be taken back elsewhere, if a person wants it.
    Question(Question),
    /// There will be no more.
    Ended(anyhow::Result<()>),
    /// A signal asked to stop.
    Stopped,
}

/// How fast epochs come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the source, which waits by itself.
    Live,
    /// How many seconds of the machine pass in a second.
    Times(f64),
}

/// The slowest and the fastest speed.
const SPEEDS: (f64, f64) = (0.01, 10_000.0);
/// How often a feed that stands still looks whether it was asked to stop by a signal.
const LOOK: Duration = Duration::from_millis(100);

/// What carries epochs to the screen.
pub struct Feed<'a> {
    /// What the screen asks for.
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
        self.tell_speed(paused);
        loop {
            let begun = Instant::now();
            let mut length = 0.0;
            let more = source.next(&mut |moment| {
                let view = watch.take(moment);
                length = view.interval_seconds;
                // A screen that is gone is noticed by its orders.
                let _ = self.news.send(News::View(Arc::new(view)));
            })?;
            if !more || !self.wait(source, begun, length, &mut paused) {
                return Ok(());
            }
        }
    }

    /// Waits until the next epoch is due, and does what is asked meanwhile; false to end.
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

    /// A screen that is gone needs no news.
    fn record(&self, source: &mut dyn Source) {
        let (recording, said) = match source.record() {
            Ok(Taped::To(file)) => (Some(file.clone()), format!("recording to {file}")),
            Ok(Taped::Ended(words)) => (None, words),
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
        self.tell_speed(*paused);
    }

    fn tell_speed(&self, paused: bool) {
        let Pace::Times(speed) = self.pace else { return };
        let still = if paused { ", stands still" } else { "" };
        let _ = self.news.send(News::Status(format!("speed {speed}x{still}")));
    }
}
