//! `isobar topo`: the machine, or a captured one, for a person or a program.

use crate::adapt::linux;
use crate::args::TopoArgs;
use crate::terminal;
use crate::text::json_line;
use crate::topo;
use std::io::Write;

/// Reads and draws the machine.
///
/// # Errors
/// Bad input for a captured tree that is none; a failure where this machine cannot be read.
pub fn run(args: &TopoArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let machine = linux::read_topology(args.root.as_deref())?;
    if args.json {
        writeln!(out, "{}", json_line(&topo::json(&machine)))?;
    } else {
        write!(out, "{}", topo::draw(&machine, terminal::columns()))?;
    }
    Ok(())
}
