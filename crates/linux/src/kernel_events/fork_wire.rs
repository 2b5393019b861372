//! Encodes and decodes the kernel's process events; pure. A message is a netlink header, a
//! connector header (`Documentation/driver-api/connector.rst`) and a `struct proc_event`
//! (`linux/cn_proc.h`). Only forks are decoded.

use isobar_model::{Pid, Tid};

/// `CN_IDX_PROC` and `CN_VAL_PROC`; the index is also the multicast group.
pub const PROC: u32 = 1;
/// `PROC_CN_MCAST_LISTEN`
const LISTEN: u32 = 1;
/// `PROC_CN_MCAST_IGNORE`
const IGNORE: u32 = 2;
/// `PROC_EVENT_NONE`: the answer to a request.
const ANSWER: u32 = 0;
/// `PROC_EVENT_FORK`
const FORK: u32 = 1;

const NETLINK_HEADER: usize = 16;
const CONNECTOR_HEADER: usize = 20;
const EVENT: usize = NETLINK_HEADER + CONNECTOR_HEADER;
/// `NLMSG_DONE`
const DONE: u16 = 3;

/// A message from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The answer to a listener's request: 0, or an error number.
    Answer(u32),
    /// A task made another.
    Fork(Fork),
}

/// A new task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// When it was made, on `CLOCK_MONOTONIC`, in nanoseconds.
    pub time: u64,
    /// The process that is its parent from now on.
    pub parent: Pid,
    /// The thread that made it. For a new thread of a process (`CLONE_THREAD`) and with
    /// `CLONE_PARENT` this is the parent of the maker instead.
    pub parent_thread: Tid,
    /// The process that it belongs to.
    pub child: Pid,
    /// Its thread id.
    pub child_thread: Tid,
}

/// The request for events: for forks only (Linux 6.6 and later), or for all.
#[must_use]
pub fn listen(forks_only: bool, own: u32) -> Vec<u8> {
    let mut body = LISTEN.to_ne_bytes().to_vec();
    if forks_only {
        body.extend(FORK.to_ne_bytes());
    }
    request(&body, own)
}

/// The request to send no more events.
#[must_use]
pub fn ignore(own: u32) -> Vec<u8> {
    request(&IGNORE.to_ne_bytes(), own)
}

fn request(body: &[u8], own: u32) -> Vec<u8> {
    let body_length = u16::try_from(body.len()).unwrap_or(0);
    let length = u32::try_from(EVENT + body.len()).unwrap_or(0);
    let netlink = [&length.to_ne_bytes()[..], &DONE.to_ne_bytes(), &[0; 2], &[0; 4], &own.to_ne_bytes()];
    let connector = [&PROC.to_ne_bytes()[..], &PROC.to_ne_bytes(), &[0; 8], &body_length.to_ne_bytes(), &[0; 2]];
    [&netlink.concat()[..], &connector.concat(), body].concat()
}

/// The content of a datagram; `None` for other events and for anything that is no event.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Message> {
    let connector = (word(bytes, NETLINK_HEADER)?, word(bytes, NETLINK_HEADER + 4)?);
    if connector != (PROC, PROC) {
        return None;
    }
    let data = EVENT + 16;
    match word(bytes, EVENT)? {
        ANSWER => Some(Message::Answer(word(bytes, data)?)),
        FORK => Some(Message::Fork(Fork {
            time: u64::from_ne_bytes(bytes.get(EVENT + 8..EVENT + 16)?.try_into().ok()?),
            parent_thread: Tid(word(bytes, data)?),
            parent: Pid(word(bytes, data + 4)?),
            child_thread: Tid(word(bytes, data + 8)?),
            child: Pid(word(bytes, data + 12)?),
        })),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(what: u32, time: u64, data: [u32; 4]) -> Vec<u8> {
        let mut bytes = listen(false, 0)[..EVENT].to_vec();
        bytes.extend([what, 3].iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(time.to_ne_bytes());
        bytes.extend(data.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_fork_names_parent_and_child() {
        let fork = Fork { time: 77, parent: Pid(10), parent_thread: Tid(11), child: Pid(12), child_thread: Tid(12) };
        assert_eq!(parse(&event(FORK, 77, [11, 10, 12, 12])), Some(Message::Fork(fork)));
        assert_eq!(parse(&event(ANSWER, 0, [1, 0, 0, 0])), Some(Message::Answer(1)));
        assert_eq!(parse(&event(0x8000_0000, 0, [1, 2, 3, 4])), None, "an exit");
    }

    #[test]
    fn requests_state_their_length() {
        for (forks_only, length) in [(false, 40), (true, 44)] {
            let bytes = listen(forks_only, 9);
            assert_eq!((bytes.len(), word(&bytes, 0)), (length, u32::try_from(length).ok()));
        }
        // Kernels before 6.6 accept a body of four bytes alone.
        assert_eq!(ignore(9).len(), 40);
        assert_eq!((word(&listen(false, 9), EVENT), word(&ignore(9), EVENT)), (Some(LISTEN), Some(IGNORE)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = parse(&bytes);
        }
    }
}
