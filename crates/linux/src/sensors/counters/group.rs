//! Handles one perf event group of one thread (`perf_event_open(2)`): opened together, read with
//! one system call, closed when dropped. Values come with enabled and running time and are not
//! scaled here; `Observation::between` does that.

use super::events::Role;
use crate::perf::event::{Code, Modes, attributes, last_errno, open};
use isobar_model::{Count, Counters, Tid};
use perf_event_open_sys::{bindings, ioctls};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;

const READ_FORMAT: u32 = bindings::PERF_FORMAT_GROUP
    | bindings::PERF_FORMAT_ID
    | bindings::PERF_FORMAT_TOTAL_TIME_ENABLED
    | bindings::PERF_FORMAT_TOTAL_TIME_RUNNING;

/// The events of one PMU that are counted together, in the order in which they are opened.
pub type Members = Vec<(Role, Code)>;

/// An open group.
#[derive(Debug)]
pub struct Group {
    /// The leader comes first. Dropping the descriptors closes the counters.
    fds: Vec<OwnedFd>,
    roles: Vec<(u64, Role)>,
}

impl Group {
    /// Opens every member on a thread and starts them together.
    ///
    /// # Errors
    /// The kernel's error for the first member that it refuses: `ESRCH` the thread has ended,
    /// `EMFILE` the descriptor limit, `EACCES` no permission.
    pub fn open(members: &[(Role, Code)], thread: Tid, modes: Modes) -> Result<Self, Errno> {
        let mut group = Self { fds: Vec::with_capacity(members.len()), roles: Vec::with_capacity(members.len()) };
        for &(role, code) in members {
            let mut attr = attributes(code, modes);
            attr.read_format = u64::from(READ_FORMAT);
            attr.set_disabled(u64::from(group.fds.is_empty()));
            let fd = open(&mut attr, thread, group.fds.first())?;
            group.roles.push((event_id(&fd)?, role));
            group.fds.push(fd);
        }
        group.start()?;
        Ok(group)
    }

    fn start(&self) -> Result<(), Errno> {
        let Some(leader) = self.fds.first() else { return Ok(()) };
        // SAFETY: PERF_EVENT_IOC_ENABLE takes a plain number and touches no memory of ours.
        let result = unsafe { ioctls::ENABLE(leader.as_raw_fd(), 0) };
        if result < 0 { Err(last_errno()) } else { Ok(()) }
    }

    /// Reads all members with one system call.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read(&self) -> Result<Counters, Errno> {
        let mut counters = Counters::default();
        let Some(leader) = self.fds.first() else { return Ok(counters) };
        let mut bytes = [0; 8 * (3 + 2 * 8)];
        let length = rustix::io::read(leader, &mut bytes)?;
        for (id, count) in parse_group(&bytes[..length]) {
            if let Some((_, role)) = self.roles.iter().find(|(known, _)| *known == id) {
                *role.slot(&mut counters) = Some(count);
            }
        }
        Ok(counters)
    }

    /// Number of descriptors in use.
    #[must_use]
    pub const fn descriptors(&self) -> usize {
        self.fds.len()
    }
}

fn event_id(fd: &OwnedFd) -> Result<u64, Errno> {
    let mut id = 0u64;
    // SAFETY: PERF_EVENT_IOC_ID writes one u64 to `id`, which lives through the call.
    let result = unsafe { ioctls::ID(fd.as_raw_fd(), &raw mut id) };
    if result < 0 { Err(last_errno()) } else { Ok(id) }
}

/// Parses the result of `read(2)` on a group leader with our read format: number, enabled, running,
/// then value and id of each event. Truncated bytes yield the whole pairs that are there.
pub fn parse_group(bytes: &[u8]) -> impl Iterator<Item = (u64, Count)> + '_ {
    let mut words = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
    let mut header = || words.next().unwrap_or(0);
    let (number, enabled, running) = (header(), header(), header());
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let pairs = std::iter::from_fn(move || Some((words.next()?, words.next()?)));
    pairs.take(number).map(move |(value, id)| (id, Count { value, enabled, running }))
}

/// Adds the counts of one core PMU to those of the others.
pub(super) fn add_all(sum: &mut Counters, counters: &Counters) {
    for role in Role::ALL {
        if let Some(count) = role.of(*counters) {
            add(role.slot(sum), count);
        }
    }
}

/// Adds the count of one core PMU to those of the others. All of them are enabled whenever the
/// thread runs, but each runs only on its own kind of core. So values and running times add up,
/// while the enabled time is the same for all.
fn add(sum: &mut Option<Count>, count: Count) {
    let before = sum.unwrap_or_default();
    let enabled = before.enabled.max(count.enabled);
    let running = before.running.saturating_add(count.running).min(enabled);
    *sum = Some(Count { value: before.value.saturating_add(count.value), enabled, running });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_group_read_is_number_times_and_pairs() {
        let read = bytes(&[2, 1000, 250, 7, 70, 9, 90]);
        let count = |value| Count { value, enabled: 1000, running: 250 };
        assert_eq!(parse_group(&read).collect::<Vec<_>>(), [(70, count(7)), (90, count(9))]);
        assert_eq!(parse_group(&read[..48]).count(), 1);
        assert_eq!(parse_group(&[]).count(), 0);
    }

    #[test]
    fn core_kinds_add_up_to_the_whole_time() {
        // 600 of 1000 ns on a P core, 400 on an E core: nothing was multiplexed, so nothing will be
        // scaled.
        let mut sum = None;
        add(&mut sum, Count { value: 60, enabled: 1000, running: 600 });
        add(&mut sum, Count { value: 10, enabled: 1000, running: 400 });
        assert_eq!(sum, Some(Count { value: 70, enabled: 1000, running: 1000 }));
    }
}
