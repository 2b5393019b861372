//! `isobar restore`: puts back what a killed `manage` left changed, and the pages that
//! `pages apply` moved.

use super::Verb;
use super::pages::undo;
use crate::daemon;
use crate::failure::{BadInput, bad_input, notify};
use crate::input;
use crate::machines::linux;
use crate::text::{json_line, plain};
use anyhow::Error;
use isobar_linux::actuators::origins::RestoredPages;
use isobar_runtime::settings::Config;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Put back what a killed `manage` left changed, and the pages that `pages apply` moved
#[derive(Debug, clap::Parser)]
#[command(
    name = "restore",
    after_help = "Example:
  isobar restore
  isobar restore --service
  isobar restore --state /run/isobar/state.json --json

Exit code: 0 put back, or nothing to do; 1 not everything could be put back, or another isobar runs;
2 --state names a file that is no state file, or --config a file that is no valid configuration."
)]
pub struct Restore {
    /// The state file [default: /run/isobar/state.json for root, $XDG_RUNTIME_DIR/isobar/state.json
    /// for others]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Put back what the daemon left changed, but not pages that `pages apply` moved; the state
    /// file is the one that the daemon's configuration names, or else the usual one
    #[arg(long, conflicts_with = "state")]
    service: bool,
    /// The daemon's configuration, instead of /etc/isobar/isobar.toml
    #[arg(long, value_name = "FILE", requires = "service")]
    config: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Verb for Restore {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let named = self.state.is_some();
        let state =
            if self.service { self.of_daemon()? } else { self.state.clone().unwrap_or_else(linux::default_state) };
        let _manager = linux::only_manager()?;
        let mut failures = Vec::new();
        let done = linux::restore(&state, named).unwrap_or_else(|why| {
            failures.push(why);
            None
        });
        if failures.iter().any(Error::is::<BadInput>) {
            return Err(failures.swap_remove(0));
        }
        failures.extend(done.iter().filter_map(|done| linux::refused(&state, done)));
        // Whatever happened to the threads, the pages can go back.
        let pages = if self.service { Ok(None) } else { undo::restore(&state) };
        let pages = pages.unwrap_or_else(|why| {
            failures.push(why);
            None
        });
        failures.extend(undo::left(pages.as_deref().unwrap_or_default()).map(Error::msg));
        if self.json {
            let file = state.display().to_string();
            let (threads, pages) = (done.as_ref().map(linux::report_to_json), pages.as_deref().map(all_to_json));
            let document = json!({ "state_file": file, "restored": threads, "pages": pages });
            writeln!(out, "{}", json_line(&document))?;
        } else {
            // Pages may be all that there is to put back.
            if done.is_none() && pages.is_none() && failures.is_empty() {
                writeln!(out, "{}", plain(&no_such_file(&state, named)))?;
            }
            done.iter().try_for_each(|done| writeln!(out, "{}", plain(&done.to_string())))?;
            for remark in done.iter().flat_map(|done| &done.remarks) {
                writeln!(out, "remark: {}", plain(remark))?;
            }
            pages.iter().flatten().try_for_each(|one| writeln!(out, "{}", plain(&undo::in_words(one))))?;
        }
        let mut failures = failures.into_iter();
        let first = failures.next();
        failures.for_each(|why| notify(&format!("{why:#}")));
        first.map_or(Ok(()), Err)
    }
}

impl Restore {
    /// The daemon's state file. The configuration may have become invalid since the daemon started.
    /// That is no reason to put nothing back.
    fn of_daemon(&self) -> anyhow::Result<PathBuf> {
        let file = self.config.clone().or_else(daemon::config);
        let read = Config::load(file.as_deref(), &[], &input::settings);
        let config = match read {
            Err(error) if self.config.is_none() => {
                notify(&format!("{error}: using the default state file"));
                Config::default()
            }
            read => read.map_err(bad_input)?,
        };
        Ok(config.manage.state_file.unwrap_or_else(daemon::state_file))
    }
}

fn all_to_json(all: &[RestoredPages]) -> Vec<Value> {
    all.iter().map(undo::document).collect()
}

/// The message for a missing state file. A mistyped path must not read as if all were well.
fn no_such_file(state: &Path, named: bool) -> String {
    let file = state.display();
    let folder = state.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let what =
        folder.map_or_else(|| "no such file".to_owned(), |folder| format!("no such folder: {}", folder.display()));
    if named {
        format!(
            "{file}: {what}: no record of changes to put back (the default file is {})",
            linux::default_state().display()
        )
    } else {
        format!(
            "{file}: {what}: nothing to put back (if the run had `manage.state_file`, name that file \
             with --state)"
        )
    }
}
