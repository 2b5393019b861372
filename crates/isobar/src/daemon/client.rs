//! The client's side of the control socket: one request, one answer.

use super::places;
use anyhow::{Context, anyhow, bail};
use isobar_control::{Answer, Lines, MOST_ANSWER, Request};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for an answer: a little longer than the daemon waits for its own loop.
const PATIENCE: Duration = Duration::from_secs(15);

/// The socket to connect to: the one that is named, otherwise the first usual place where a socket
/// exists or may exist.
pub fn find(named: Option<&Path>) -> PathBuf {
    named.map_or_else(|| first(&places::sockets()), Path::to_path_buf)
}

/// A socket in a folder that this user may not enter counts: connecting to it says why it is
/// refused.
fn first(all: &[PathBuf]) -> PathBuf {
    let may_exist = |socket: &&PathBuf| !matches!(socket.try_exists(), Ok(false));
    all.iter().find(may_exist).or(all.first()).cloned().unwrap_or_default()
}

/// Sends a request to a daemon and returns its answer.
///
/// # Errors
/// One line: no daemon runs, this user may not ask, or the daemon does not answer.
pub fn ask(socket: &Path, request: &Request) -> anyhow::Result<Answer> {
    let stream = UnixStream::connect(socket).map_err(|error| not_there(socket, &error))?;
    let place = || format!("{}: the daemon does not answer", socket.display());
    let answer = exchange(&stream, request).with_context(place)?;
    Answer::read(&answer).map_err(|error| anyhow!("{}: {error}", socket.display()))
}

fn exchange(mut stream: &UnixStream, request: &Request) -> anyhow::Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(request.line().as_bytes())?;
    let (mut lines, mut bytes) = (Lines::of(MOST_ANSWER), [0; 8192]);
    loop {
        if let Some(line) = lines.next_line()? {
            return Ok(line);
        }
        match stream.read(&mut bytes)? {
            0 => bail!("it closed the connection"),
            count => lines.push(&bytes[..count]),
        }
    }
}

fn not_there(socket: &Path, error: &std::io::Error) -> anyhow::Error {
    let place = socket.display();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            anyhow!("no isobar daemon runs ({place}: {error}): start it by `systemctl start isobar` or `isobar daemon`")
        }
        ErrorKind::PermissionDenied => anyhow!(
            "{place}: {error}: only root, the daemon's user and members of `daemon.group` may talk to \
             the daemon; `id` lists your groups"
        ),
        _ => anyhow!("{place}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_cannot_be_looked_at_may_exist() {
        let folder = tempfile::tempdir().unwrap();
        let (none, one) = (folder.path().join("none"), folder.path().join("one"));
        std::fs::write(&one, "").unwrap();
        assert_eq!(first(&[none.clone(), one.clone()]), one);
        assert_eq!(first(std::slice::from_ref(&none)), none);
        // As behind a folder that only others may enter, the kernel does not say whether it exists.
        let unknown = one.join("below");
        assert!(unknown.try_exists().is_err());
        assert_eq!(first(&[none, unknown.clone()]), unknown);
    }

    #[test]
    fn who_may_talk_to_the_daemon_is_said() {
        let said = not_there(Path::new("/run/isobar/control.sock"), &ErrorKind::PermissionDenied.into()).to_string();
        assert!(said.contains("/run/isobar/control.sock") && said.contains("members of `daemon.group`"), "{said}");
    }
}
