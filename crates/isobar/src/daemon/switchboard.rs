//! Between clients, which wait, and the loop, which never does: a short queue of calls, each with
//! the line that its answer goes back by.

use isobar_control::{Answer, Request};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Calls that wait for the loop at most.
const WAITING: usize = 32;

/// How long a client waits for the loop.
const PATIENCE: Duration = Duration::from_secs(10);

/// Has the loop look.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// A request with the way back to who asked.
pub struct Call {
    /// What is asked.
    pub request: Request,
    back: SyncSender<Answer>,
}

impl Call {
    /// Answers. A client that has gone is no loss.
    pub fn answer(self, answer: Answer) {
        let _ = self.back.try_send(answer);
    }
}

/// The clients' end.
#[derive(Clone)]
pub struct Switchboard {
    calls: SyncSender<Call>,
    wake: Wake,
}

/// A switchboard and the end of it that the loop holds.
pub fn switchboard(wake: Wake) -> (Switchboard, Receiver<Call>) {
    let (calls, taken) = sync_channel(WAITING);
    (Switchboard { calls, wake }, taken)
}

impl Switchboard {
    /// Asks the loop, and waits for its answer, but not for long.
    pub fn ask(&self, request: Request) -> Answer {
        let (back, answer) = sync_channel(1);
        let refused = |why: &str| Answer::Refused { why: why.to_owned() };
        match self.calls.try_send(Call { request, back }) {
            Ok(()) => (self.wake)(),
            Err(TrySendError::Full(_)) => return refused("too many requests are waiting: ask again"),
            Err(TrySendError::Disconnected(_)) => return refused("the daemon is about to end"),
        }
        match answer.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => refused("the loop did not answer within 10 s: it is at work, or hangs"),
            Err(RecvTimeoutError::Disconnected) => refused("the daemon is about to end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn the_loop_is_woken_and_answers_and_its_end_is_an_answer_too() {
        let woken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&woken);
        let (board, calls) = switchboard(Arc::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        }));
        let asking = {
            let board = board.clone();
            std::thread::spawn(move || board.ask(Request::Pause {}))
        };
        let call = calls.recv().unwrap();
        assert_eq!(call.request, Request::Pause {});
        call.answer(Answer::Done { words: "paused".into() });
        assert_eq!(asking.join().unwrap(), Answer::Done { words: "paused".into() });
        assert_eq!(woken.load(Ordering::SeqCst), 1);
        drop(calls);
        assert!(matches!(board.ask(Request::Status {}), Answer::Refused { why } if why.contains("about to end")));
    }
}
