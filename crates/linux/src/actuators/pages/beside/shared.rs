//! State shared by the loop and the thread that copies pages.

use super::queue::Queue;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The queue, and how each side wakes the other.
#[derive(Debug, Default)]
pub struct Shared {
    /// The migrations under way.
    pub queue: Mutex<Queue>,
    /// Signalled if something was added or is to stop.
    pub changed: Condvar,
}

impl Shared {
    /// Locks the queue. A thread that panicked has left it consistent.
    pub fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
