//! `isobar report`: makes one HTML file from a run, a comparison, a study, a reproduction or a page
//! trace. The content of a file determines its kind.

mod documents;
mod kind;
mod output;
mod recording;
mod timeline;
mod trace;

pub use documents::{reproduction, simulation, study};
pub use output::PageOption;
pub use timeline::Timed;

use super::Verb;
use super::pages::Placed;
use crate::failure::bad_input;
use crate::text::plain;
use kind::Content;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Make one HTML page from a recording, a simulation, a study, a reproduction or a page trace
#[derive(Debug, clap::Parser)]
#[command(
    name = "report",
    after_help = "Example:
  isobar record -o day.isobar --for 600 && isobar report day.isobar
  isobar sim examples/workloads/dino-spec.toml --policy linux,dino --json \\
      > sim.json && isobar report sim.json
  isobar study --profiles machine:xeon-4x8 --algorithm all --json \\
      --workloads examples/study/library.txt > study.jsonl
  isobar report study.jsonl -o study.html
  isobar reproduce nmass --figures figures --json > nmass.json &&
      isobar report nmass.json --figures figures
  isobar trace -o solver.trace -- ./solver &&
      isobar report solver.trace --nodes 4

The content of a file determines its kind. `sim`, `study` and `reproduce` also take --report FILE. The page needs no network and
no server: figures, script and style are in the file. All charts show the same span of time (drag over the strip at the top to
choose it), tables can be sorted and filtered, and the page contains its figures as JSON. docs/report.md says how to read each
kind."
)]
pub struct Report {
    /// A recording (`isobar record`, `manage --record`), the --json output of `isobar sim`, `study`
    /// or `reproduce`, or a trace of `isobar trace`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The page to write [default: the file's name with .html]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite a page that exists already
    #[arg(long)]
    force: bool,
    /// For a reproduction: the folder where `isobar reproduce --figures` wrote the figures
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// where threads of a page trace run
    #[command(flatten, next_help_heading = "Of a page trace")]
    placed: Placed,
}

impl Verb for Report {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let output = self.output.clone().unwrap_or_else(|| self.file.with_extension("html"));
        if output == self.file {
            return Err(bad_input(format!("{}: the page would overwrite its input: give -o FILE", output.display())));
        }
        output::check(&output, self.force)?;
        let content = kind::read(&self.file)?;
        self.suits(&content)?;
        let (page, what) = match content {
            Content::Recording => recording::page(&self.file)?,
            Content::Trace => trace::page(&self.file, &self.placed)?,
            Content::Simulation(document) => simulation(document, &self.file, Vec::new(), None)?,
            Content::Study(lines) => study(lines, &self.file)?,
            Content::Reproduction(document) => {
                reproduction(document, &self.file, &|file| documents::picture(self.figures.as_deref()?, file))?
            }
        };
        output::write(&output, &page, &what, self.force, out)
    }
}

impl Report {
    /// Refuses options that have no meaning for a file of this kind, because they are mistakes.
    fn suits(&self, content: &Content) -> anyhow::Result<()> {
        let wrong = |option: &str, of: &str| {
            let (file, kind) = (self.file.display(), content.name());
            Err(bad_input(format!("{option}: is for {of}; {file} is {kind}: leave it out")))
        };
        if self.figures.is_some() && !matches!(content, Content::Reproduction(_)) {
            return wrong("--figures", "a reproduction");
        }
        match (self.placed.typed(), content) {
            (Some(option), content) if !matches!(content, Content::Trace) => wrong(option, "a page trace"),
            _ => Ok(()),
        }
    }
}

/// The name of a file, as a title.
fn title(file: &Path) -> String {
    file.file_name().map_or_else(String::new, |name| plain(&name.to_string_lossy()).into_owned())
}
