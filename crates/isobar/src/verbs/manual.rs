//! `isobar manual`: writes the manual pages, one for isobar and one for each verb, made from the
//! definitions of the command line. It is for packagers, so the help does not list it.

use super::{Verb, settings, whole};
use anyhow::Context;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write the manual pages (section 1) into a folder
#[derive(Debug, clap::Parser)]
#[command(
    name = "manual",
    hide = true,
    after_help = "Example:
  isobar manual target/man && man -l target/man/isobar-daemon.1"
)]
pub struct Manual {
    /// The folder, which is created if it is missing
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

impl Verb for Manual {
    fn run(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        let mut whole = whole().after_long_help(settings()).disable_help_subcommand(true);
        whole.build();
        write_all(&whole, &self.folder)
    }
}

/// Writes the page of a command, and the pages of all its subcommands.
fn write_all(command: &Command, folder: &Path) -> anyhow::Result<()> {
    let file = folder.join(format!("{}.1", page_name(command)));
    fs::write(&file, page(command)?).with_context(|| file.display().to_string())?;
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| write_all(below, folder))
}

/// The name of a command's page: `isobar pages apply` has its page at `isobar-pages-apply`.
fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let name = page_name(command);
    let man = Man::new(command.clone()).title(name.to_uppercase()).manual("isobar manual");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut text)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    let notes = command.get_after_long_help().or(command.get_after_help());
    if let Some(notes) = notes {
        as_typed(&notes.to_string()).to_writer(&mut text)?;
    }
    if name != "isobar" {
        let mut also = Roff::default();
        also.control("SH", ["SEE ALSO"]).text([roman("isobar(1)")]);
        also.to_writer(&mut text)?;
    }
    Ok(text)
}

/// The text below the options of a help. Paragraphs are filled, and indented lines stay as they
/// are.
fn as_typed(notes: &str) -> Roff {
    let mut roff = Roff::default();
    roff.control("SH", ["NOTES"]);
    let mut kept = false;
    for line in notes.lines() {
        let keep = line.starts_with(' ');
        if keep != kept {
            roff.control(if keep { "nf" } else { "fi" }, []);
            kept = keep;
        }
        if line.is_empty() {
            roff.control("PP", []);
        } else {
            roff.text([roman(line)]);
        }
    }
    if kept {
        roff.control("fi", []);
    }
    roff
}
