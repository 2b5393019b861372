//! The server beside the loop: one thread accepts clients, and each client is served by a thread of
//! its own for a bounded time. Whatever a client does (sends half a line, reads nothing, dies), it
//! costs the loop nothing.

use super::log::Log;
use super::peers::{self, Peer, Permission};
use super::socket::{self, Bound};
use super::switchboard::Switchboard;
use crate::report::Priority;
use anyhow::Context;
use isobar_control::{Answer, Lines, MOST_REQUEST, Request};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of clients at a time.
const CLIENTS: usize = 16;

/// How many of these places are reserved for users who may change things, so that clients who may
/// only look cannot keep an operator from pausing.
const KEPT: usize = 4;

/// How long a client may take to send a request, and how long to read the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The server; dropping it removes the socket.
pub struct Server {
    _bound: Arc<Bound>,
}

/// What the thread of every client needs.
#[derive(Clone)]
struct Shared {
    board: Switchboard,
    own: u32,
    group: Option<u32>,
    group_name: String,
    log: Log,
    clients: Arc<AtomicUsize>,
}

impl Server {
    /// Creates the socket and starts to answer.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn start(path: &Path, group_name: &str, board: Switchboard, log: &Log) -> anyhow::Result<Self> {
        let group = peers::group(group_name);
        if group.is_none() && !group_name.is_empty() {
            let why = format!(
                "there is no group {group_name} (daemon.group): only root and the daemon's user may talk to the daemon"
            );
            log.say(Priority::Notice, why);
        }
        let bound = Arc::new(socket::bind(path, group)?);
        if let Some(why) = &bound.kept_from_group {
            let words = format!(
                "the control socket cannot be given to group {group_name} (daemon.group): {why}: only root and the \
                 daemon's user may talk to the daemon; start it with that group (Group= of its unit), or with CAP_CHOWN"
            );
            log.say(Priority::Warning, words);
        }
        let own = rustix::process::geteuid().as_raw();
        let (group_name, log, clients) = (group_name.to_owned(), log.clone(), Arc::default());
        let shared = Shared { board, own, group, group_name, log, clients };
        let listener = bound.listener.try_clone().context("the control socket")?;
        let work = move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(stream) => shared.receive(stream),
                    // The process may have run out of descriptors: later there are some again.
                    Err(_) => thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        thread::Builder::new().name("control".into()).spawn(work).context("the control socket")?;
        Ok(Self { _bound: bound })
    }
}

impl Shared {
    fn receive(&self, stream: UnixStream) {
        let timed = stream.set_write_timeout(Some(PATIENCE));
        let (Ok(peer), Ok(())) = (peers::of(&stream), timed) else { return };
        let places = if peers::may_change(peer, self.own) { CLIENTS } else { CLIENTS - KEPT };
        let Some(place) = Place::take(&self.clients, places) else {
            return send(&stream, &refused("too many clients: try again"));
        };
        let shared = self.clone();
        let work = move || {
            shared.serve(&stream, peer);
            drop(place);
        };
        // If no thread can be started, the client sees the connection closed.
        let _ = thread::Builder::new().name("client".into()).spawn(work);
    }

    fn serve(&self, stream: &UnixStream, peer: Peer) {
        // A user database on the network may be slow, but this is the client's own thread.
        let right = peers::right(peer, self.own, self.group);
        let mut lines = Lines::of(MOST_REQUEST);
        while let Some(line) = next_line(stream, &mut lines) {
            let answer = match line {
                Ok(line) => self.answer(&line, peer, right),
                Err(why) => refused(&why),
            };
            send(stream, &answer);
            if matches!(answer, Answer::Refused { .. }) {
                return;
            }
        }
    }

    fn answer(&self, line: &str, peer: Peer, right: Permission) -> Answer {
        let request = match Request::read(line) {
            Ok(_) if right == Permission::Nothing => return self.stranger(peer),
            Ok(request) => request,
            Err(error) => return refused(&error.to_string()),
        };
        if request.changes() {
            if right < Permission::Change {
                return refused("only root and the daemon's user may change anything: use sudo");
            }
            let Peer { uid, pid, .. } = peer;
            let asked = request.line();
            self.log.say(Priority::Notice, format!("user {uid} (process {pid}) asks: {}", asked.trim_end()));
        }
        self.board.ask(request)
    }

    fn stranger(&self, peer: Peer) -> Answer {
        let group = &self.group_name;
        refused(&format!(
            "user {} may not talk to the daemon: only root, the daemon's user and members of group {group}",
            peer.uid
        ))
    }
}

fn refused(why: &str) -> Answer {
    Answer::Refused { why: why.to_owned() }
}

/// The next line within a client's time limit; `None` if none arrived, or the client has gone.
fn next_line(mut stream: &UnixStream, lines: &mut Lines) -> Option<Result<String, String>> {
    let (until, mut bytes) = (Instant::now() + PATIENCE, [0; 1024]);
    loop {
        match lines.next_line() {
            Ok(Some(line)) => return Some(Ok(line)),
            Ok(None) => {}
            Err(error) => return Some(Err(error.to_string())),
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        stream.set_read_timeout(Some(left)).ok()?;
        match stream.read(&mut bytes) {
            Ok(count) if count > 0 => lines.push(&bytes[..count]),
            _ => return None,
        }
    }
}

/// Sends an answer. A client that does not read it is given up.
fn send(mut stream: &UnixStream, answer: &Answer) {
    let _ = stream.write_all(answer.line().as_bytes());
}

/// One of the places for clients, freed when dropped.
struct Place(Arc<AtomicUsize>);

impl Place {
    /// Takes a place, if fewer than `most` are taken.
    fn take(all: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let place = Self(Arc::clone(all));
        (all.fetch_add(1, Ordering::SeqCst) < most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_only_look_leaves_places_and_a_place_comes_back() {
        let all = Arc::new(AtomicUsize::new(0));
        let mut readers: Vec<Place> = (0..20).filter_map(|_| Place::take(&all, CLIENTS - KEPT)).collect();
        assert_eq!(readers.len(), 12);
        let operators: Vec<Place> = (0..20).filter_map(|_| Place::take(&all, CLIENTS)).collect();
        assert_eq!(operators.len(), 4);
        readers.pop();
        drop(operators);
        assert!(Place::take(&all, CLIENTS - KEPT).is_some());
        assert_eq!(all.load(Ordering::SeqCst), 11);
    }
}
