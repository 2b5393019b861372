//! Identifies the user who asks, and decides what that user may do. Root and the daemon's own user
//! may change things, members of the group may look, all others may do nothing. The identity comes
//! from the kernel (`SO_PEERCRED`, unix(7)), never from anything that the peer sends.

use nix::unistd::{Gid, Group, Uid, User, getgrouplist};
use rustix::net::sockopt::socket_peercred;
use std::ffi::CString;
use std::io;
use std::os::unix::net::UnixStream;

/// What a peer may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// nothing
    Nothing,
    /// ask for the status
    Look,
    /// request changes
    Change,
}

/// The user at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// the user
    pub uid: u32,
    /// its group
    pub gid: u32,
    /// the process
    pub pid: i32,
}

/// The peer at the other end of a connection.
///
/// # Errors
/// The kernel's error.
pub fn of(stream: &UnixStream) -> io::Result<Peer> {
    let found = socket_peercred(stream)?;
    Ok(Peer { uid: found.uid.as_raw(), gid: found.gid.as_raw(), pid: found.pid.as_raw_nonzero().get() })
}

/// Whether a peer may request changes, given the daemon's user. This needs no look-up in the user
/// database.
pub const fn may_change(peer: Peer, own: u32) -> bool {
    peer.uid == 0 || peer.uid == own
}

/// What a peer may do, given the daemon's user and the group that may look.
pub fn right(peer: Peer, own: u32, group: Option<u32>) -> Permission {
    if may_change(peer, own) {
        return Permission::Change;
    }
    match group {
        Some(group) if peer.gid == group || groups_of(peer).contains(&group) => Permission::Look,
        _ => Permission::Nothing,
    }
}

/// The groups that the user database lists for a user.
fn groups_of(peer: Peer) -> Vec<u32> {
    let found = || {
        let user = User::from_uid(Uid::from_raw(peer.uid)).ok()??;
        let name = CString::new(user.name).ok()?;
        getgrouplist(&name, Gid::from_raw(peer.gid)).ok()
    };
    found().unwrap_or_default().into_iter().map(Gid::as_raw).collect()
}

/// The number of a group; `None` if there is no group of that name.
pub fn group(name: &str) -> Option<u32> {
    let found = Group::from_name(name).ok().flatten();
    found.filter(|_| !name.is_empty()).map(|group| group.gid.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_the_own_user_may_change_members_may_look_others_nothing() {
        let peer = |uid, gid| Peer { uid, gid, pid: 1 };
        assert_eq!(right(peer(0, 0), 990, None), Permission::Change);
        assert_eq!(right(peer(990, 990), 990, None), Permission::Change);
        assert_eq!(right(peer(4_000_000, 77), 990, Some(77)), Permission::Look);
        assert_eq!(right(peer(4_000_000, 78), 990, Some(77)), Permission::Nothing);
        assert_eq!(right(peer(4_000_000, 77), 990, None), Permission::Nothing);
        assert!(Permission::Nothing < Permission::Look && Permission::Look < Permission::Change);
    }

    #[test]
    fn the_kernel_says_who_is_at_the_other_end() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = of(&one).unwrap();
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        assert_eq!(peer.pid.unsigned_abs(), std::process::id());
    }

    #[test]
    fn groups_have_numbers() {
        assert_eq!((group("root"), group("no-such-group-here"), group("")), (Some(0), None, None));
    }
}
