//! Runs independent pieces of work side by side and streams the results in the order of the work.
//! Each result is handed on as soon as all earlier ones are. Pieces are begun in order, and no
//! piece is begun after a request to stop. While a piece runs a parallel search, its threads do not
//! steal other pieces.

use crate::error::StudyError;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Does each piece of work, with `jobs` threads in all, until `stopped` returns true or `sink`
/// fails.
///
/// # Errors
/// [`StudyError::Jobs`] if threads cannot be started, and any error of `sink`.
pub(crate) fn in_order<T: Sync, R: Send, E: From<StudyError>>(
    jobs: usize,
    work: &[T],
    stopped: &(dyn Fn() -> bool + Sync),
    one: impl Fn(&T) -> R + Sync,
    mut sink: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let workers = jobs.clamp(1, work.len().max(1));
    let pools = pools(workers, jobs)?;
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for pool in &pools {
            let (sender, next, failed, one) = (sender.clone(), &next, &failed, &one);
            scope.spawn(move || {
                while !stopped() && !failed.load(Ordering::SeqCst) {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    let Some(piece) = work.get(index) else { return };
                    if sender.send((index, pool.install(|| one(piece)))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let done = hand_on(&results, &mut sink);
        failed.store(done.is_err(), Ordering::SeqCst);
        done
    })
}

/// Thread pools for the searches: the available threads, divided among the workers.
fn pools(workers: usize, jobs: usize) -> Result<Vec<rayon::ThreadPool>, StudyError> {
    let threads = (jobs / workers).max(1);
    let pool = |_| {
        let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        built.map_err(|cause| StudyError::Jobs { jobs, cause })
    };
    (0..workers).map(pool).collect()
}

/// Puts results in order and hands them on.
fn hand_on<R, E>(results: &mpsc::Receiver<(usize, R)>, sink: &mut impl FnMut(R) -> Result<(), E>) -> Result<(), E> {
    let (mut early, mut next) = (BTreeMap::new(), 0);
    for (index, result) in results {
        early.insert(index, result);
        while let Some(result) = early.remove(&next) {
            sink(result)?;
            next += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_come_in_order_whatever_ends_first() {
        let work: Vec<u64> = (0..40).rev().collect();
        for jobs in [1, 3, 100] {
            let mut seen = Vec::new();
            let slow = |piece: &u64| {
                std::thread::sleep(Duration::from_micros(50 * (piece % 7)));
                *piece
            };
            in_order::<_, _, StudyError>(jobs, &work, &|| false, slow, |result| {
                seen.push(result);
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, work);
        }
    }

    #[test]
    fn a_stop_keeps_what_is_done_without_gaps() {
        let begun = AtomicUsize::new(0);
        let mut seen = Vec::new();
        let work: Vec<usize> = (0..1000).collect();
        let one = |piece: &usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            *piece
        };
        in_order::<_, _, StudyError>(2, &work, &|| begun.load(Ordering::SeqCst) >= 5, one, |result| {
            seen.push(result);
            Ok(())
        })
        .unwrap();
        assert!(seen.len() >= 5 && seen.len() < 1000 && seen == (0..seen.len()).collect::<Vec<_>>(), "{seen:?}");
    }

    #[test]
    fn a_sink_that_fails_ends_it() {
        let fail = |_| Err(StudyError::request("full"));
        let done: Result<(), StudyError> = in_order(2, &[1, 2, 3], &|| false, |piece| *piece, fail);
        assert_eq!(done.unwrap_err().to_string(), "full");
    }
}
