//! Frees tasks that inherited a mask of ours, in rounds. A task may make others until it is freed
//! itself, and the one that it was making at that moment appears later.

use super::forking::{ForkState, Forking};
use super::inherited::{self, Freed};
use super::ledger::{Follow, Ledger};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Tasks may be made while others are freed. After this number of rounds in which new ones
/// appeared, the rest is left and reported.
const MOST_ROUNDS: usize = 20;

/// Pauses before the successive rounds in which nothing may appear until the search ends. They are
/// for tasks whose maker is unknown or has ended.
const QUIET: [Duration; 4] =
    [Duration::from_millis(2), Duration::from_millis(5), Duration::from_millis(15), Duration::from_millis(30)];

/// Pause between later looks at threads that may still be making others.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// How long to wait for threads that are seen in a fork: a fork takes about 10 ms for each GiB of
/// memory in small pages. What they make later is left and reported.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long to wait for running threads that may be in a fork: they leave the kernel sooner, or
/// make nothing in it.
const WHILE_RUNNING: Duration = Duration::from_secs(1);

/// Frees every task that inherited a mask of ours, and those that are being made.
pub fn free_heirs(ledger: &mut Ledger, follow: &mut Follow<'_>, freed: &mut Freed) {
    let began = Instant::now();
    let (mut forking, mut fruitful, mut quiet) = (Forking::begin(), 0, 0);
    loop {
        if ledger.processes.is_empty() {
            return;
        }
        // The look comes first: what a thread has made by then is there to be freed.
        let look = forking.look(ledger);
        if inherited::free_all(ledger, follow, freed) > 0 {
            (forking, fruitful, quiet) = (Forking::begin(), fruitful + 1, 0);
        } else {
            quiet += 1;
        }
        if fruitful == MOST_ROUNDS {
            freed.unfinished();
            forking.look(ledger);
            break;
        }
        let patience = match look {
            ForkState::Done => Duration::ZERO,
            ForkState::Running => WHILE_RUNNING,
            ForkState::AtWork => PATIENCE,
        };
        match QUIET.get(quiet) {
            Some(pause) => sleep(*pause),
            None if began.elapsed() < patience => sleep(BETWEEN_LOOKS),
            None => break,
        }
    }
    freed.leave_to(forking.left());
    inherited::look_for_others(ledger, freed);
}
