//! `isobar completions`: prints what a shell needs to complete verbs, options and files, made from
//! the definitions of the command line.

use super::{Verb, whole};
use clap_complete::{Shell, generate};
use std::io::Write;

/// Print the script with which a shell completes isobar's commands
#[derive(Debug, clap::Parser)]
#[command(
    name = "completions",
    after_help = "Example:
  isobar completions bash > ~/.local/share/bash-completion/completions/isobar
  isobar completions zsh > ~/.zfunc/_isobar
  isobar completions fish > ~/.config/fish/completions/isobar.fish

If a folder does not exist yet, create it first:
  mkdir -p ~/.local/share/bash-completion/completions

Packages install the scripts for bash, zsh and fish. For zsh, the folder must be in $fpath before compinit runs."
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
