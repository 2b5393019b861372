//! The page trace (`numasim_model::page_trace`) of the accesses of user code.

use super::World;
use crate::error;
use numasim_model::{PageCounts, PageTrace};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

const SHIFT: u32 = 12;

/// A trace that is written to a file.
pub type Trace = PageTrace<BufWriter<File>>;

/// A trace that is written to a file, once the guest requests it.
///
/// # Errors
/// The file cannot be created; as one line.
pub fn create(path: &Path, cpus: usize) -> Result<Trace, String> {
    let file = File::create(path).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(Trace::new(BufWriter::new(file), cpus))
}

impl World {
    /// Records a load or store of user code that the machine has answered.
    pub fn traced(&mut self, address: u64, physical: u64, store: bool) {
        let cpu = self.running.cpu();
        // An access to a line that needed no lookup cost nothing.
        let (line, misses, waited) = std::mem::replace(&mut self.cost, (u64::MAX, 0, 0));
        let (misses, waited) = if line == address / 64 { (misses, waited) } else { (0, 0) };
        let one = PageCounts { loads: u64::from(!store), stores: u64::from(store), misses, waited };
        let node = self.machine.node_of(physical).unwrap_or_default();
        self.with_trace(|trace, _| trace.count(cpu, (address >> SHIFT, physical >> SHIFT), node, one));
    }

    /// The guest's word: a trace begins.
    pub fn trace_begins(&mut self) {
        self.with_trace(|trace, now| {
            trace.begin(now);
            Ok(())
        });
    }

    /// The guest's word: a trace is over.
    pub fn trace_ends(&mut self) {
        self.with_trace(Trace::finish);
    }

    /// A window is over.
    pub(super) fn trace_window(&mut self) {
        self.with_trace(Trace::reached);
    }

    /// Calls a function with the trace and the time of the window. If its file cannot be written,
    /// the trace is given up.
    fn with_trace(&mut self, act: impl FnOnce(&mut Trace, u64) -> io::Result<()>) {
        let now = self.windows.base();
        if let Some(trace) = &mut self.trace
            && let Err(why) = act(trace, now)
        {
            error::notify(&format!("the page trace cannot be written: {why}"));
            self.trace = None;
        }
    }
}
