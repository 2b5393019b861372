//! `isobar restore`: puts back what a killed `manage` left changed.

use crate::adapt::linux;
use crate::args::RestoreArgs;
use crate::text::{json_line, plain};
use serde_json::json;
use std::io::Write;

/// Puts back and tells; nothing to do is a success.
///
/// # Errors
/// Where another isobar runs, the state file cannot be read, or the kernel refuses; bad input where `--state` names a
/// file that is no state file.
pub fn run(args: &RestoreArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let named = args.state.is_some();
    let state = args.state.clone().unwrap_or_else(linux::default_state);
    let file = state.display().to_string();
    let done = linux::restore(&state, named)?;
    if args.json {
        let document = json!({ "state_file": file, "restored": done.map(|restored| restored.json) });
        writeln!(out, "{}", json_line(&document))?;
    } else {
        let text = done.map_or_else(|| format!("{file}: no such file: nothing to put back"), |done| done.text);
        writeln!(out, "{}", plain(&text))?;
    }
    Ok(())
}
