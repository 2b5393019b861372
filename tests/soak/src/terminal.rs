//! A terminal that isobar runs on. It can be read like a screen, stopped with Ctrl-S, or closed
//! like a window.

use crate::words::Words;
use anyhow::{Context, Result};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

const READ: u8 = 0;
const STOP: u8 = 1;
const CLOSE: u8 = 2;

const CTRL_Q: &[u8] = b"\x11";
const CTRL_S: &[u8] = b"\x13";

/// The side of a terminal at which a person sits.
pub struct Terminal {
    /// The device for the programs on it.
    pub path: String,
    /// What these programs wrote.
    pub words: Words,
    order: Arc<AtomicU8>,
}

impl Terminal {
    /// Opens a terminal, and reads from it from now on.
    pub fn open() -> Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).context("no terminal")?;
        grantpt(&master).and_then(|()| unlockpt(&master)).context("no terminal")?;
        let path = ptsname(&master, Vec::new())?.to_string_lossy().into_owned();
        fcntl_setfl(&master, OFlags::NONBLOCK)?;
        let terminal = Self { path, words: Words::default(), order: Arc::default() };
        let (words, order) = (terminal.words.clone(), Arc::clone(&terminal.order));
        thread::spawn(move || serve(File::from(master), &words, &order));
        Ok(terminal)
    }

    /// Stops the terminal, as Ctrl-S does.
    pub fn stop(&self) {
        self.order.store(STOP, Ordering::SeqCst);
    }

    /// Resumes the terminal, as Ctrl-Q does.
    pub fn go_on(&self) {
        self.order.store(READ, Ordering::SeqCst);
    }

    /// Closes the window.
    pub fn close(&self) {
        self.order.store(CLOSE, Ordering::SeqCst);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.close();
    }
}

fn serve(mut master: File, words: &Words, order: &AtomicU8) {
    let mut now = READ;
    loop {
        let wanted = order.load(Ordering::SeqCst);
        if wanted == CLOSE || (wanted == READ && !take(&mut master, words)) {
            break;
        }
        if wanted != now {
            let _ = master.write_all(if wanted == STOP { CTRL_S } else { CTRL_Q });
            now = wanted;
        }
        sleep(Duration::from_millis(5));
    }
    words.end();
}

/// Reads what is available; false when no process has the terminal open any more.
fn take(master: &mut File, words: &Words) -> bool {
    let mut part = [0; 4096];
    loop {
        match master.read(&mut part) {
            Ok(0) => return false,
            Ok(read) => words.add(&part[..read]),
            Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
}
