//! Parses the text after `exec:` into a program and its arguments. It checks whether the program
//! exists, and starts nothing.
//!
//! No shell reads the text: words are split and unquoted as a shell does it (`shlex`), and nothing
//! is expanded. To use a shell, write `exec:sh -c '...'`.

use rustix::fs::{Access, access};
use rustix::process;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The prefix of a policy's name that marks it as a program.
pub const PREFIX: &str = "exec:";

/// A program that decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    name: &'static str,
    file: PathBuf,
    arguments: Vec<String>,
}

/// Why a program cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// no text after `exec:`
    #[error("{0}: no program: expected exec:PROGRAM, such as exec:./policy.py or exec:'python3 policy.py --limit 3'")]
    Empty(String),
    /// a quote that does not end
    #[error("{0}: a quote or a backslash is left open")]
    Quotes(String),
    /// no such file
    #[error("{0}: {1} is not found: expected a program in PATH, or the path of one, such as ./policy.py")]
    Missing(String, String),
    /// a file that cannot be run
    #[error("{0}: {1} cannot be run: `chmod +x {1}`, or name its interpreter, as in exec:'python3 {1}'")]
    NotExecutable(String, String),
    /// isobar runs with more rights than its user has
    #[error("{0}: isobar runs with the rights of another user (set-user-id), with which it starts no program")]
    AnothersRights(String),
}

impl Program {
    /// The program of a policy's name, if the name has the form `exec:CMD`.
    ///
    /// # Errors
    /// [`ProgramError`]: one line that begins with the name.
    pub fn of_policy(name: &str) -> Option<Result<Self, ProgramError>> {
        name.strip_prefix(PREFIX).map(|command| Self::parse(name, command))
    }

    fn parse(name: &str, command: &str) -> Result<Self, ProgramError> {
        let words = shlex::split(command).ok_or_else(|| ProgramError::Quotes(name.to_owned()))?;
        let Some((first, arguments)) = words.split_first().filter(|(first, _)| !first.is_empty()) else {
            return Err(ProgramError::Empty(name.to_owned()));
        };
        if process::getuid() != process::geteuid() || process::getgid() != process::getegid() {
            return Err(ProgramError::AnothersRights(name.to_owned()));
        }
        let file = found(name, first)?;
        // The name of a policy must live as long as the process; a command line has only a few.
        let name = Box::leak(name.to_owned().into_boxed_str());
        Ok(Self { name, file, arguments: arguments.to_vec() })
    }

    /// The policy's name: as typed, `exec:` included.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The command that starts it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.args(&self.arguments);
        command
    }
}

/// The file of a program: by its path if the name contains one, otherwise by PATH.
fn found(name: &str, program: &str) -> Result<PathBuf, ProgramError> {
    let paths = if program.contains('/') { vec![PathBuf::from(program)] } else { in_path(program) };
    let files: Vec<_> = paths.into_iter().filter(|path| path.is_file()).collect();
    let missing = || ProgramError::Missing(name.to_owned(), program.to_owned());
    let first = files.first().ok_or_else(missing)?;
    let runs = files.iter().find(|file| access(*file, Access::EXEC_OK).is_ok());
    runs.cloned().ok_or_else(|| ProgramError::NotExecutable(name.to_owned(), first.display().to_string()))
}

fn in_path(program: &str) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|folder| *folder != Path::new("")).map(|folder| folder.join(program)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Result<Program, String> {
        Program::of_policy(name).unwrap().map_err(|error| error.to_string())
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them_and_nothing_is_expanded() {
        let program = parsed("exec:sh -c 'echo $HOME; ls *' \"a b\"").unwrap();
        assert_eq!(program.arguments, ["-c", "echo $HOME; ls *", "a b"]);
        assert_eq!(program.name(), "exec:sh -c 'echo $HOME; ls *' \"a b\"");
        assert!(program.file.ends_with("sh") && program.file.is_absolute());
        assert!(Program::of_policy("dino").is_none());
    }

    #[test]
    fn what_cannot_be_run_says_what_would_be_right() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("policy.py");
        std::fs::write(&text, "").unwrap();
        for (name, said) in [
            ("exec:".to_owned(), "no program: expected exec:PROGRAM"),
            ("exec:  ".to_owned(), "no program"),
            ("exec:''".to_owned(), "no program"),
            ("exec:sh -c 'x".to_owned(), "a quote or a backslash is left open"),
            ("exec:no-such-program-here".to_owned(), "no-such-program-here is not found: expected a program in PATH"),
            ("exec:/no/such".to_owned(), "/no/such is not found"),
            (format!("exec:{}", folder.path().display()), "is not found"),
            (format!("exec:{}", text.display()), "cannot be run: `chmod +x "),
        ] {
            let refused = parsed(&name).unwrap_err();
            assert!(refused.starts_with(&name) && refused.contains(said), "{refused}");
        }
    }
}
