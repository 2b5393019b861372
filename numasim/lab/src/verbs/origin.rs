//! Says where results come from: the commit of the sources, and the command that repeats a boot.

use super::own;
use crate::args::ExperimentArgs;
use numasim_lab::fetch;
use std::path::Path;
use std::process::{Command, Stdio};

/// The commit of the sources, as git names it, with `+changes` if files differ from it; empty if
/// there is no git or no repository.
pub fn commit() -> String {
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).current_dir(fetch::workspace()).stderr(Stdio::null()).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(head) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty());
    format!("{head}{}", if changed { "+changes" } else { "" })
}

/// The command that repeats a boot of an experiment, without its seed. `only` has the contenders,
/// if not all run; `program` is the program that is measured alone.
pub fn command(file: &Path, args: &ExperimentArgs, only: &[String], program: Option<&str>) -> String {
    let mut words = vec!["numasim".to_owned(), "experiment".to_owned(), quoted(&within(file))];
    words.extend(only.iter().flat_map(|name| ["--only".to_owned(), quoted(name)]));
    words.extend(args.daemon.iter().flat_map(|command| ["--daemon".to_owned(), quoted(&own::by_name(command))]));
    let programs: Vec<&str> =
        program.map_or_else(|| args.program.iter().map(String::as_str).collect(), |one| vec![one]);
    words.extend(programs.into_iter().flat_map(|name| ["--program".to_owned(), quoted(name)]));
    words.extend(args.host_files.iter().flat_map(|folder| ["--host-files".to_owned(), quoted(&within(folder))]));
    words.extend(args.plain.then(|| "--plain".to_owned()));
    words.join(" ")
}

/// The same command under a named kernel. Like other files from elsewhere, the kernel is given by
/// its name alone.
pub fn under(kernel: &Path, command: &str) -> String {
    format!("{}={} {command}", fetch::KERNEL_VARIABLE, quoted(&within(kernel)))
}

/// A file's path from the root of the sources, or its name alone if it lies elsewhere, because
/// folders of this machine mean nothing on another.
fn within(file: &Path) -> String {
    let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let root = fetch::workspace();
    let shown = whole.strip_prefix(&root).ok().or_else(|| file.file_name().map(Path::new)).unwrap_or(file);
    shown.display().to_string()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=,".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r#"'"'"'"#)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Verb};
    use clap::Parser;

    #[test]
    fn the_command_makes_the_boot_again() {
        let words = "numasim experiment x.toml --only n-mass --until 3 --results r --plain".split_whitespace();
        let Verb::Experiment(args) = Args::parse_from(words).verb else { panic!("another verb") };
        let file = fetch::workspace().join("numasim/experiments/mix.toml");
        let got = command(&file, &args, &args.only, Some("two words"));
        assert_eq!(got, "numasim experiment numasim/experiments/mix.toml --only n-mass --program 'two words' --plain");
        let words = "numasim experiment x.toml --host-files /tmp/some/traces".split_whitespace();
        let Verb::Experiment(args) = Args::parse_from(words).verb else { panic!("another verb") };
        let got = under(Path::new("/boot/vmlinuz-6.12"), &command(&file, &args, &["linux".to_owned()], None));
        let wanted = "NUMASIM_KERNEL=vmlinuz-6.12 numasim experiment numasim/experiments/mix.toml --only linux \
                      --host-files traces";
        assert_eq!(got, wanted);
        assert_eq!(within(Path::new("/tmp/elsewhere/a.toml")), "a.toml");
        let words = ["numasim", "experiment", "x.toml", "--daemon", "/opt/bin/scx_rusty -s 20000"];
        let Verb::Experiment(args) = Args::parse_from(words).verb else { panic!("another verb") };
        let got = command(&file, &args, &[], None);
        assert_eq!(got, "numasim experiment numasim/experiments/mix.toml --daemon 'scx_rusty -s 20000'");
    }
}
