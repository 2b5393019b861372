//! `isobar restore`: puts back what a killed `manage` left changed.

use crate::adapt::linux::{self, Restored};
use crate::args::RestoreArgs;
use crate::text::{json_line, plain};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Puts back and reports it; nothing to do is a success.
///
/// # Errors
/// Where another isobar runs, the state file cannot be read, or the kernel refuses; bad input where
/// `--state` names a file that is no state file.
pub fn run(args: &RestoreArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let named = args.state.is_some();
    let state = args.state.clone().unwrap_or_else(linux::default_state);
    let done = linux::restore(&state, named)?;
    if args.json {
        let file = state.display().to_string();
        let document = json!({ "state_file": file, "restored": done.map(|restored| restored.json) });
        writeln!(out, "{}", json_line(&document))?;
    } else {
        let lines = done.map_or_else(|| vec![no_such_file(&state, named)], lines);
        lines.iter().try_for_each(|line| writeln!(out, "{}", plain(line)))?;
    }
    Ok(())
}

fn lines(done: Restored) -> Vec<String> {
    let remarks = done.remarks.into_iter().map(|remark| format!("remark: {remark}"));
    [done.text].into_iter().chain(remarks).collect()
}

/// A mistyped path must not read as if all were well.
fn no_such_file(state: &Path, named: bool) -> String {
    let file = state.display();
    let folder = state.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let what =
        folder.map_or_else(|| "no such file".to_owned(), |folder| format!("no such folder as {}", folder.display()));
    if named {
        format!("{file}: {what}: nothing to put back by it (without --state: {})", linux::default_state().display())
    } else {
        format!(
            "{file}: {what}: nothing to put back (a run with `manage.state_file` has its own file: name it with --state)"
        )
    }
}
