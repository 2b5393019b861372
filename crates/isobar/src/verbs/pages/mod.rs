//! `isobar pages`: shows how a program uses its pages and where they should be, from a trace or a
//! page profile; or where the pages of a live process are. Other operations are subcommands, each
//! in a file beside this one.

mod apply;
mod file;
mod gains;
mod options;
mod parquet;
mod source;
mod watch;

pub use apply::undo;
pub use options::Placed;
pub use source::{Source, read};

use super::Verb;
use crate::failure::bad_input;
use apply::Apply;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Show how a program uses its pages, and which node each should be on
#[derive(Debug, clap::Parser)]
#[command(
    name = "pages",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Example:
  isobar pages examples/pages/matmul.csv --nodes 4
  isobar pages examples/pages/matmul.csv --nodes 4 --sweep-min-excl
  isobar pages run.trace --nodes 2 --threads-to-nodes 0,0,1,1 --page-size 2M \\
      --plot figures --json
  isobar pages run.trace --nodes 4 --machine xeon-4x8
  isobar pages 4711 --watch --interval 1
  isobar pages apply run.trace 4711 --dry-run

FILE is a trace of `isobar trace`, a page profile in the CSV form of numalize, or memory samples as
`perf script` prints them. A number is a process id, unless a file has that name. docs/pages.md
explains every figure."
)]
pub struct Pages {
    /// A trace or page profile; with --watch, a process id
    #[arg(value_name = "FILE|PID", required = true)]
    input: Option<PathBuf>,
    #[command(flatten)]
    placed: Placed,
    #[command(flatten)]
    file: file::FileArgs,
    #[command(flatten)]
    watch: watch::WatchArgs,
    /// Print JSON: one document, or with --watch one for each look
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    what: Option<What>,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// Move the pages of a live process to where a mapping of its traced run wants them
    Apply(Apply),
}

/// What the argument names.
#[derive(Debug, PartialEq, Eq)]
enum Input<'a> {
    File(&'a Path),
    Process(u32),
}

/// A number is a process id, unless there is a file of that name.
fn input(typed: &Path) -> Input<'_> {
    let number = typed.to_str().and_then(|text| text.parse().ok());
    number.filter(|_| !typed.exists()).map_or(Input::File(typed), Input::Process)
}

impl Verb for Pages {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if let Some(What::Apply(apply)) = &self.what {
            return apply.run(out);
        }
        let typed = self.input.as_deref().unwrap_or(Path::new(""));
        match (input(typed), self.watch.watch) {
            (Input::File(path), false) => file::run(path, &self.placed, &self.file, self.json, out),
            (Input::Process(pid), true) => watch::run(pid, &self.watch, self.json, out),
            (Input::Process(pid), false) => {
                Err(bad_input(format!("{pid}: no such file; to see where the pages of process {pid} are, add --watch")))
            }
            (Input::File(path), true) => {
                Err(bad_input(format!("--watch {}: expected a process id, as `pgrep NAME` prints it", path.display())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_process_unless_a_file_is_called_so() {
        assert_eq!(input(Path::new("4711")), Input::Process(4711));
        assert_eq!(input(Path::new("run.trace")), Input::File(Path::new("run.trace")));
        assert_eq!(input(Path::new("99999999999")), Input::File(Path::new("99999999999")));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("12");
        std::fs::write(&path, "").unwrap();
        assert_eq!(input(&path), Input::File(&path));
    }
}
