//! The text of one of isobar's outputs, collected while it runs.

use crate::family::until;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The text so far.
#[derive(Clone, Default)]
pub struct Words {
    said: Arc<Mutex<Vec<u8>>>,
    over: Arc<AtomicBool>,
}

impl Words {
    /// Collects in the background what a reader returns, to its end.
    pub fn from(mut reader: impl Read + Send + 'static) -> Self {
        let words = Self::default();
        let ours = words.clone();
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut part) {
                ours.add(&part[..read]);
            }
            ours.end();
        });
        words
    }

    /// Appends some bytes.
    pub fn add(&self, part: &[u8]) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(part);
    }

    /// Marks the end of the text.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// Number of bytes so far.
    pub fn len(&self) -> usize {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The output after a number of bytes, once the text has ended (waits a few seconds at most).
    pub fn since(&self, mark: usize) -> String {
        until(Duration::from_secs(3), || self.over.load(Ordering::SeqCst));
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(said.get(mark..).unwrap_or_default()).into_owned()
    }
}
