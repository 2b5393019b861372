//! What the loop and the thread that copies share.

use super::queue::Queue;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The queue, and how each side wakes the other.
#[derive(Debug, Default)]
pub struct Shared {
    /// What is under way.
    pub queue: Mutex<Queue>,
    /// Something came, or is to stop.
    pub changed: Condvar,
}

impl Shared {
    /// The queue; a thread that panicked has left it whole.
    pub fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
