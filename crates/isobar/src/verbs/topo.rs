//! `isobar topo`: shows this machine, or a captured one, to a person or a program.

use super::Verb;
use crate::machines::linux;
use crate::terminal;
use crate::text::json_line;
use crate::topo;
use std::io::Write;
use std::path::PathBuf;

/// Draw this machine: nodes, their caches and CPUs, memory, distances
#[derive(Debug, clap::Parser)]
#[command(
    name = "topo",
    after_help = "Example:
  isobar topo
  isobar topo --root captured-tree.tar.bz2 --json
  COLUMNS=120 isobar topo | less

The width of the drawing is COLUMNS if that is set, otherwise the width of the terminal, otherwise 80 columns; it is at
least 40."
)]
pub struct Topo {
    /// Read a captured tree instead: a folder that contains sys/, or a .tar.bz2 or .tar.gz of one
    #[arg(long, value_name = "DIR|ARCHIVE")]
    root: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Verb for Topo {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let machine = linux::read_topology(self.root.as_deref())?;
        if self.json {
            writeln!(out, "{}", json_line(&topo::json(&machine)))?;
        } else {
            write!(out, "{}", topo::draw(&machine, terminal::columns()))?;
        }
        Ok(())
    }
}
