//! `isobar pages`: what a program's pages are used for, and where they go.

mod apply;

pub use apply::undo;

use super::Verb;
use apply::Apply;
use std::io::Write;

/// Place the pages of a program by how its threads use them
#[derive(Debug, clap::Parser)]
#[command(
    name = "pages",
    after_help = "Example:
  isobar pages apply stencil.trace 4711 --dry-run"
)]
pub struct Pages {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Apply(Apply),
}

impl Verb for Pages {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        match &self.what {
            What::Apply(apply) => apply.run(out),
        }
    }
}
