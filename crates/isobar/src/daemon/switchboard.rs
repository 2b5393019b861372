//! Connects clients, which wait, with the loop, which never waits: a short queue of calls, each
//! with a channel for its answer.

use isobar_control::{Answer, Request};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Maximum number of calls that wait for the loop.
const WAITING: usize = 32;

/// How long a client waits for the loop.
const PATIENCE: Duration = Duration::from_secs(10);

/// Wakes the loop so that it looks at its calls.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// A request with a channel back to the client.
pub struct Call {
    /// The request.
    pub request: Request,
    back: SyncSender<Answer>,
}

impl Call {
    /// Sends the answer. It does not matter if the client has gone.
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

/// A switchboard, and the receiving end for the loop.
pub fn switchboard(wake: Wake) -> (Switchboard, Receiver<Call>) {
    let (calls, taken) = sync_channel(WAITING);
    (Switchboard { calls, wake }, taken)
}

/// The calls to answer before the loop goes on: no more than can wait at once, because clients that
/// keep asking must not keep the loop from deciding. Later ones wake the loop again.
pub fn waiting(calls: &Receiver<Call>) -> impl Iterator<Item = Call> {
    calls.try_iter().take(WAITING)
}

impl Switchboard {
    /// Passes a request to the loop and waits for its answer, for a limited time.
    pub fn ask(&self, request: Request) -> Answer {
        let (back, answer) = sync_channel(1);
        let refused = |why: &str| Answer::Refused { why: why.to_owned() };
        match self.calls.try_send(Call { request, back }) {
            Ok(()) => (self.wake)(),
            Err(TrySendError::Full(_)) => return refused("too many requests are waiting: try again"),
            Err(TrySendError::Disconnected(_)) => return refused("the daemon is shutting down"),
        }
        match answer.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => refused("the daemon did not answer within 10 s: it is busy, or hangs"),
            Err(RecvTimeoutError::Disconnected) => refused("the daemon is shutting down"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn clients_that_keep_asking_do_not_keep_the_loop() {
        let (board, calls) = switchboard(Arc::new(|| ()));
        let ask = || {
            let call = Call { request: Request::Status {}, back: sync_channel(1).0 };
            assert!(board.calls.try_send(call).is_ok());
        };
        ask();
        assert_eq!(waiting(&calls).inspect(|_| ask()).count(), WAITING);
    }

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
        assert!(matches!(board.ask(Request::Status {}), Answer::Refused { why } if why.contains("shutting down")));
    }
}
