//! Reports which task made which, from the kernel's process events connector (`linux/cn_proc.h`).
//! It works with `CAP_NET_ADMIN` (Linux 6.6: for anyone) in the first network and pid namespaces.
//! Reading never waits.

use super::fork_wire::{Fork, Message, PROC, ignore, listen, parse};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::netlink::{CONNECTOR, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{bind, recvfrom, sendto, socket_with, sockopt};
use std::time::{Duration, Instant};

/// Bytes that the kernel may buffer between two readings: some 20,000 forks.
const BUFFER: usize = 16 << 20;
/// How long the kernel's answer may take, whatever other messages come meanwhile. The kernel
/// answers before the request returns.
const PATIENCE: Duration = Duration::from_millis(500);
/// The longest wait for one message.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The kernel's process events.
#[derive(Debug)]
pub struct Forks {
    socket: OwnedFd,
    /// Whether the kernel may count this process as a listener.
    listening: bool,
}

impl Forks {
    /// Begins to listen.
    ///
    /// # Errors
    /// Why the kernel does not report forks, in words.
    pub fn open() -> Result<Self, String> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(CONNECTOR));
        let mut forks = Self { socket: socket.map_err(unheard)?, listening: false };
        bind(&forks.socket, &SocketAddrNetlink::new(0, PROC)).map_err(unheard)?;
        // Neither has to succeed: an overflow is noticed and reported.
        let _ = sockopt::set_socket_recv_buffer_size(&forks.socket, BUFFER);
        let _ = sockopt::set_socket_recv_buffer_size_force(&forks.socket, BUFFER);
        forks.ask().map_err(unheard)?;
        // Works from Linux 6.6 on; earlier kernels ignore a request of this length. There is no
        // answer, because an answer would not be a fork.
        let _ = forks.send(&listen(true, std::process::id()));
        Ok(forks)
    }

    /// Appends the forks since the last call; true if the kernel dropped some.
    pub fn drain(&self, forks: &mut Vec<Fork>) -> bool {
        let mut lost = false;
        loop {
            match self.receive() {
                Ok(Some(Message::Fork(fork))) => forks.push(fork),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => lost = true,
                Err(Errno::AGAIN) => return lost,
                Err(_) => return true,
            }
        }
    }

    fn send(&self, request: &[u8]) -> Result<(), Errno> {
        sendto(&self.socket, request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).map(drop)
    }

    /// Asks for all events, and waits for the answer. One that does not come may be a yes.
    fn ask(&mut self) -> Result<(), Errno> {
        self.send(&listen(false, std::process::id()))?;
        self.listening = true;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&PAUSE)) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            match self.receive() {
                Ok(Some(Message::Answer(0))) => return Ok(()),
                Ok(Some(Message::Answer(refused))) => {
                    self.listening = false;
                    return Err(errno(refused));
                }
                // If other processes listen as well, events arrive already before our answer.
                Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::TIMEDOUT)
    }

    /// The next message; `None` for one that does not matter or that is not from the kernel.
    fn receive(&self) -> Result<Option<Message>, Errno> {
        let mut bytes = [0; 256];
        let (_, length, sender) = recvfrom(&self.socket, &mut bytes, RecvFlags::DONTWAIT)?;
        let sender = sender.and_then(|sender| SocketAddrNetlink::try_from(sender).ok());
        let kernel = sender.is_some_and(|sender| sender.pid() == 0);
        Ok(bytes.get(..length).filter(|_| kernel).and_then(parse))
    }
}

impl Drop for Forks {
    /// Kernels before 6.6 do not notice that a listener has closed its socket, and create events
    /// for it until the next boot.
    fn drop(&mut self) {
        if self.listening {
            let _ = self.send(&ignore(std::process::id()));
        }
    }
}

fn errno(number: u32) -> Errno {
    i32::try_from(number).map_or(Errno::INVAL, Errno::from_raw_os_error)
}

fn unheard(errno: Errno) -> String {
    let why = match errno {
        Errno::PERM | Errno::ACCESS => "CAP_NET_ADMIN is missing",
        Errno::TIMEDOUT => "the kernel does not answer (it reports them outside of containers only)",
        Errno::PROTONOSUPPORT | Errno::CONNREFUSED => "this kernel was built without them (CONFIG_PROC_EVENTS)",
        _ => return format!("the kernel's process events cannot be read: {errno}"),
    };
    format!("the kernel's process events cannot be read: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_kernel_is_asked_to_stop() {
        let forks = match Forks::open() {
            Ok(forks) => forks,
            Err(why) => return eprintln!("SKIPPED: {why}"),
        };
        let again = Forks { socket: forks.socket.try_clone().unwrap(), listening: false };
        again.drain(&mut Vec::new());
        drop(forks);
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (mut answered, mut forked) = (false, false);
        loop {
            match again.receive() {
                Ok(Some(Message::Answer(0))) => answered = true,
                Ok(Some(Message::Fork(fork))) => forked |= fork.child.0 == child.id(),
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        // Kernels from 6.6 on send the socket nothing any more. Earlier ones answer, and go on if
        // there are other listeners.
        assert!(answered || !forked);
    }
}
