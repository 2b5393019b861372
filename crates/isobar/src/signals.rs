//! Signals that ask to stop. They raise a flag and do nothing else; the loop looks at it, puts back what was changed and
//! ends in order. A second signal of the same kind ends the program at once, for a loop that hangs; `isobar restore` then
//! puts back.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked to stop.
#[derive(Clone, Debug)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Takes over SIGINT, SIGTERM and SIGHUP.
    ///
    /// # Errors
    /// Where the kernel refuses a handler.
    pub fn install() -> io::Result<Self> {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag down and only raises it.
            flag::register_conditional_default(signal, Arc::clone(&raised))?;
            flag::register(signal, Arc::clone(&raised))?;
        }
        Ok(Self(raised))
    }

    /// Whether a signal came.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
