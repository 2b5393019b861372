//! Traces of runs that never took place: what `isobar pages apply` is given. The traced run had
//! other addresses than the process that pages are moved of.

use anyhow::Result;
use serde_json::{Value, json};
use std::fs;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// A trace in the making.
#[derive(Default)]
pub struct Trace {
    regions: Vec<Value>,
    rows: Vec<Value>,
    threads: usize,
}

impl Trace {
    /// A trace of a program with this number of threads.
    pub fn of(threads: usize) -> Self {
        Self { threads, ..Self::default() }
    }

    /// An anonymous mapping.
    pub fn anonymous(&mut self, start: u64, pages: u64) {
        let order = self.regions.len();
        self.region(start, pages, &json!({ "anonymous": { "order": order } }));
    }

    /// A mapped file.
    pub fn file(&mut self, start: u64, pages: u64, path: &str, offset: u64) {
        self.region(start, pages, &json!({ "file": { "path": path, "offset": offset } }));
    }

    fn region(&mut self, start: u64, pages: u64, kind: &Value) {
        self.regions.push(json!({ "start": start, "end": start + pages * PAGE, "kind": kind }));
    }

    /// Accesses by thread to the page at an address.
    pub fn page(&mut self, address: u64, accesses: &[u64]) {
        self.rows.push(json!([address / PAGE, accesses]));
    }

    /// Accesses of one thread alone.
    pub fn exclusive(&mut self, address: u64, thread: usize) {
        let accesses: Vec<u64> = (0..self.threads).map(|one| if one == thread { 1000 } else { 0 }).collect();
        self.page(address, &accesses);
    }

    /// Writes it to a file.
    pub fn write(&self, path: &str) -> Result<()> {
        let header = json!({"engine": "fixture", "sampled": null, "page_bytes": PAGE, "slice_ns": 1, "command": []});
        let all = json!({"header": header, "threads": self.threads, "regions": self.regions, "rows": self.rows});
        fs::write(path, all.to_string())?;
        Ok(())
    }
}
