//! Frees what inherited a mask of ours, in rounds: a task may make others until it is freed itself,
//! and what it was making at that moment turns up later.

use super::forking::{Forking, Look};
use super::inherited::{self, Freed};
use super::ledger::{Follow, Ledger};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Tasks may be made while we free them; after this number of rounds in which some turned up the
/// rest is left, and reported.
const MOST_ROUNDS: usize = 20;

/// Waits before the rounds in which nothing may turn up before it is over: for tasks whose maker is
/// unknown or has ended.
const QUIET: [Duration; 4] =
    [Duration::from_millis(2), Duration::from_millis(5), Duration::from_millis(15), Duration::from_millis(30)];

/// Between looks at threads that may still be making others after that.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// For how long threads are waited for that are seen in a fork: one takes about 10 ms for each GiB
/// of memory in small pages. What they make later is left, and reported.
const PATIENCE: Duration = Duration::from_secs(4);

/// For how long running threads are waited for that may be in one: they leave the kernel sooner, or
/// make nothing in it.
const WHILE_RUNNING: Duration = Duration::from_secs(1);

/// Frees every heir that is there, and those that are being made.
pub fn free_heirs(ledger: &mut Ledger, follow: &mut Follow<'_>, freed: &mut Freed) {
    let began = Instant::now();
    let (mut forking, mut fruitful, mut quiet) = (Forking::begin(), 0, 0);
    loop {
        if ledger.processes.is_empty() {
            return;
        }
        // First: what one has made by now is there to be freed.
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
            Look::Done => Duration::ZERO,
            Look::Running => WHILE_RUNNING,
            Look::AtWork => PATIENCE,
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
