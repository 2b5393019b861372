//! `isobar pages FILE`: prints the report on a file, and draws its figures.

use super::gains::{self, MachineArgs};
use super::options::Placed;
use super::parquet;
use super::source::{self, Source};
use crate::failure::bad_input;
use crate::terminal;
use crate::text::json_line;
use crate::usage::{ReportDocument, document, draw, lines};
use anyhow::Context;
use isobar_pages::import::numalize;
use isobar_pages::report::{Advice, Question, Report};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What to report on a file.
#[derive(Debug, clap::Args)]
pub struct FileArgs {
    /// Also show `mixed` at every exclusivity from 0 to 100 %, in steps of 5
    #[arg(long, conflicts_with = "watch")]
    sweep_min_excl: bool,
    /// Draw figures as SVG files into this folder, which is created if it is missing
    #[arg(long, value_name = "DIR", conflicts_with = "watch")]
    plot: Option<PathBuf>,
    /// Write the accesses by page and thread to a file: `csv` is numalize's form and covers the
    /// whole run; `parquet` also has time slices, and separates loads from stores
    #[arg(long, num_args = 2, value_names = ["csv|parquet", "FILE"], conflicts_with = "watch")]
    export: Option<Vec<String>>,
    #[command(flatten)]
    machine: MachineArgs,
}

/// Reads a file and reports on it.
pub fn run(path: &Path, placed: &Placed, args: &FileArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let read = source::read(path)?;
    let homes = placed.homes(read.profile.usage.threads())?;
    let of_file = |why: &dyn std::fmt::Display| bad_input(format!("{}: {why}", path.display()));
    let course = read.course(&homes, placed.page_size)?;
    let question = Question {
        homes: &homes,
        min_excl: placed.min_excl,
        page_bytes: placed.page_size,
        sweep: args.sweep_min_excl,
        course,
    };
    let report = Report::of(&read.profile, question).map_err(|why| of_file(&why))?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let advice = Advice::of(&report, &read.profile, &path.to_string_lossy());
    let shown = ReportDocument {
        name: &name,
        profile: &read.profile,
        report: &report,
        advice: &advice,
        remarks: &read.remarks,
    };
    let gains = args.machine.gains(&read.profile, placed.min_excl)?;
    if let Some([form, file]) = args.export.as_deref() {
        export(&read, form, Path::new(file))?;
    }
    if let Some(folder) = &args.plot {
        plot(&shown, folder)?;
    }
    if json {
        let mut document = document(&shown);
        if let Some(gains) = &gains {
            document["machine"] = gains::document(gains);
        }
        writeln!(out, "{}", json_line(&document))?;
    } else {
        let gains = gains.as_ref().map(gains::lines).unwrap_or_default();
        writeln!(out, "{}", [lines(&shown, terminal::columns()), gains].concat().join("\n"))?;
    }
    Ok(())
}

fn export(read: &Source, form: &str, file: &Path) -> anyhow::Result<()> {
    if !matches!(form, "csv" | "parquet") {
        return Err(bad_input(format!("--export {form}: expected csv or parquet, then the name of a file")));
    }
    let name = || format!("--export {form} {}", file.display());
    // Creating it would empty the file that is still to be read.
    let same = |path: &Path| Some(fs::canonicalize(path).ok()? == fs::canonicalize(file).ok()?);
    if same(&read.path) == Some(true) {
        return Err(bad_input(format!("--export {form} {}: is the input file: name another", file.display())));
    }
    let to = fs::File::create(file).with_context(name)?;
    match form {
        "csv" => numalize::write(&read.profile, to).with_context(name),
        _ => parquet::write(read, to).with_context(name),
    }
}

fn plot(shown: &ReportDocument<'_>, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("--plot {}", folder.display()))?;
    draw(shown).into_iter().try_for_each(|(name, svg)| {
        let path = folder.join(name);
        fs::write(&path, svg).with_context(|| path.display().to_string())
    })
}
