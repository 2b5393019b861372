//! Puts the page trace of a boot into one file: what was traced, where the command's pages were
//! when it ended, then the lines of the plugin unchanged (`numasim_model::page_trace`). This file
//! only decides the order; other programs interpret the trace.

use crate::command::left;
use crate::error::LabError;
use numasim_guest::wire::{Line, PAGE_TRACE_VERSION, PageTraceHead, Pages};
use numasim_model::Spec;
use numasim_model::page_trace::SLICE;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes the trace, from what the boot left in its folder.
///
/// # Errors
/// The command left no pages, because it was over at once or the guest went down; or a file cannot
/// be read or written.
pub fn write(spec: &Spec, command: &[String], lines: &[Line], folder: &Path, to: &Path) -> Result<(), LabError> {
    let pages = lines.iter().find_map(|line| if let Line::Pages(pages) = line { Some(pages.as_ref()) } else { None });
    let pages = pages
        .ok_or_else(|| LabError::Boot("no page trace: the command ended before it could be watched".to_owned()))?;
    let count = |all: usize| u32::try_from(all).unwrap_or(u32::MAX);
    let head = PageTraceHead {
        numasim_pages: PAGE_TRACE_VERSION,
        machine: spec.name.clone(),
        nodes: count(spec.node.len()),
        cpus: count(spec.cpus()),
        slice_ns: SLICE / 1000,
        command: command.to_vec(),
    };
    let from = folder.join(left::TRACE);
    let lines = File::open(&from).map_err(|error| LabError::io(&from, error))?;
    put(&head, pages, lines, to).map_err(|error| LabError::io(to, error))
}

fn put(head: &PageTraceHead, pages: &Pages, mut lines: File, to: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(to)?);
    serde_json::to_writer(&mut out, head)?;
    out.write_all(b"\n")?;
    serde_json::to_writer(&mut out, pages)?;
    out.write_all(b"\n")?;
    io::copy(&mut lines, &mut out)?;
    out.flush()
}
