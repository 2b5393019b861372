//! `isobar reproduce`: the papers' claims, run again.

use super::jobs;
use crate::adapt::reproduce::{self, Options, claims_table};
use crate::args::ReproduceArgs;
use crate::failure::bad_input;
use crate::progress::Progress;
use crate::text::json_line;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Runs the experiments of the papers and prints their claims; writes the figures where they are wanted.
///
/// # Errors
/// Bad input: a folder for the figures that cannot be made.
pub fn run(args: &ReproduceArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let folder = args.figures.as_deref();
    folder.map_or(Ok(()), make)?; // before minutes of work
    let options = Options { quick: args.quick, seed: args.seed, jobs: jobs(args.jobs) };
    let mut papers = Vec::new();
    for (name, run) in reproduce::wanted(args.paper) {
        let progress = Progress::new();
        progress.busy(name);
        let done = run(&options, &|done, all| progress.tell(done, all));
        progress.end();
        let done = done.map_err(|error| error.context(format!("the experiments of {name}")))?;
        folder.map_or(Ok(()), |folder| write_figures(folder, &done.figures))?;
        papers.push(done);
    }
    if args.json {
        writeln!(out, "{}", json_line(&json!({"seed": args.seed, "quick": args.quick, "papers": papers})))?;
        return Ok(());
    }
    let tables: Vec<_> = papers.iter().map(claims_table).collect();
    write!(out, "{}", tables.join("\n"))?;
    Ok(folder.map_or(Ok(()), |folder| {
        let count: usize = papers.iter().map(|paper| paper.figures.len()).sum();
        writeln!(out, "\n{count} figures are in {}", crate::text::plain(&folder.display().to_string()))
    })?)
}

fn make(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        bad_input(format!(
            "--figures {}: {error}: expected a folder, or a place where one can be made",
            folder.display()
        ))
    })
}

fn write_figures(folder: &Path, figures: &[reproduce::Figure]) -> anyhow::Result<()> {
    figures.iter().try_for_each(|figure| {
        let file = folder.join(&figure.file);
        std::fs::write(&file, &figure.svg)
            .map_err(|error| anyhow::anyhow!("{}: cannot be written: {error}", file.display()))
    })
}
