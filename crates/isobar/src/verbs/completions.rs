//! `isobar completions`: what a shell needs to complete verbs, options and files, made from the
//! command line's own definitions.

use super::{Verb, whole};
use clap_complete::{Shell, generate};
use std::io::Write;

/// Print completions for a shell
#[derive(Debug, clap::Parser)]
#[command(
    name = "completions",
    after_help = "Example:
  isobar completions bash > ~/.local/share/bash-completion/completions/isobar
  isobar completions zsh > ~/.zfunc/_isobar
  isobar completions fish > ~/.config/fish/completions/isobar.fish

Packages bring those of bash, zsh and fish. For zsh the folder must be in $fpath before compinit runs."
)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Verb for Completions {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut script = Vec::new();
        generate(self.shell, &mut whole(), "isobar", &mut script);
        Ok(out.write_all(&script)?)
    }
}
