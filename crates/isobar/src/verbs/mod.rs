//! The verbs, one file each: what may be typed after the verb, its help with an example, and what
//! it does. A verb registers itself in one line of [`VERBS`].

mod advise;
mod completions;
mod config;
mod daemon;
mod decide;
mod doctor;
mod epochs;
mod explain;
mod export;
mod manage;
mod manual;
mod options;
mod pages;
mod passing;
mod pause;
mod probe;
mod record;
mod recording;
mod replay;
mod report;
mod reproduce;
mod restore;
mod resume;
mod run;
mod sim;
mod status;
mod study;
mod sweep;
mod talk;
mod top;
mod topo;
mod trace;
mod undo;
mod watch;
mod whole;

use clap::{ArgMatches, Command};
use std::io::Write;

pub use whole::{bare, settings, whole};

/// Every verb, in the order of the help.
pub const VERBS: &[Entry] = &[
    Entry::of::<topo::Topo>(),
    Entry::of::<doctor::Doctor>(),
    Entry::of::<top::Top>(),
    Entry::of::<probe::Probe>(),
    Entry::of::<decide::Decide>(),
    Entry::of::<manage::Manage>(),
    Entry::of::<daemon::Daemon>(),
    Entry::of::<status::Status>(),
    Entry::of::<pause::Pause>(),
    Entry::of::<resume::Resume>(),
    Entry::of::<undo::Undo>(),
    Entry::of::<config::Config>(),
    Entry::of::<explain::Explain>(),
    Entry::of::<advise::Advise>(),
    Entry::of::<run::Run>(),
    Entry::of::<trace::Trace>(),
    Entry::of::<restore::Restore>(),
    Entry::of::<record::Record>(),
    Entry::of::<replay::Replay>(),
    Entry::of::<report::Report>(),
    Entry::of::<export::Export>(),
    Entry::of::<sim::Sim>(),
    Entry::of::<reproduce::Reproduce>(),
    Entry::of::<study::Study>(),
    Entry::of::<sweep::Sweep>(),
    Entry::of::<pages::Pages>(),
    Entry::of::<completions::Completions>(),
    Entry::of::<manual::Manual>(),
];

/// A verb's arguments. The attributes of the parser give its name, its help and the example below
/// the help.
trait Verb: clap::Parser {
    /// Runs the verb. Output goes to `out`, unless it must not wait for its reader.
    ///
    /// # Errors
    /// Bad input, and whatever prevents the verb from completing.
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()>;
}

/// A verb as the command line knows it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name, arguments and help.
    pub command: fn() -> Command,
    /// Runs it with what was typed.
    pub run: fn(&ArgMatches, &mut dyn Write) -> anyhow::Result<()>,
}

impl Entry {
    const fn of<V: Verb>() -> Self {
        Self { command: V::command, run: |typed, out| V::from_arg_matches(typed)?.run(out) }
    }
}
