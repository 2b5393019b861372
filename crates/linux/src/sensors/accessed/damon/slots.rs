//! Decides which process is watched in which slot, and runs the thread that reads.

use super::agreement::Agreement;
use super::files::{Admin, State};
use crate::kernel::identity;
use crate::sensors::accessed::engine::{Engine, Reading, Watched};
use isobar_model::Pid;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum number of processes that are watched at a time: each takes one kernel thread.
const SLOTS: u64 = 4;

/// Number of first readings of a process that do not count: DAMON begins with a few large regions,
/// and takes some aggregations to distinguish their parts. Two more readings pass until three can
/// be compared.
const COARSE: u32 = 6;

/// How often the reader checks whether it should go on, and which processes are wanted.
const PAUSE: Duration = Duration::from_millis(50);

/// The folder of the kernel's modules and their settings.
const MODULES: &str = "/sys/module";

/// A process: its id and its start.
type Who = (Pid, u64);

/// The data that the machine and the reader exchange.
#[derive(Debug, Default)]
struct Shared {
    stop: bool,
    wanted: Vec<Who>,
    found: BTreeMap<Pid, Reading>,
}

/// The engine. The settings that it made are removed when it is dropped.
#[derive(Debug)]
pub struct Damon {
    admin: Admin,
    shared: Arc<Mutex<Shared>>,
    reader: Option<JoinHandle<()>>,
    _lock: File,
}

impl Damon {
    /// Sets up DAMON below `admin`, if it is unused.
    ///
    /// # Errors
    /// The reason why not, in one line.
    pub fn open(admin: &Path) -> Result<Self, String> {
        let admin = Admin::new(admin);
        if !admin.exists() {
            return Err("the kernel has no DAMON in sysfs: that needs CONFIG_DAMON_SYSFS".to_owned());
        }
        let lock = admin.lock()?;
        match admin.state()? {
            State::Free => {}
            State::Ours => admin.clear()?,
            State::Others => return Err("another program uses DAMON (nr_kdamonds is not 0)".to_owned()),
        }
        admin.set_up(SLOTS)?;
        if let Err(why) = admin.try_out(Path::new(MODULES)) {
            let _ = admin.clear();
            return Err(why);
        }
        let shared = Arc::<Mutex<Shared>>::default();
        let (theirs, of) = (Arc::clone(&shared), admin.clone());
        let reader = thread::Builder::new().name("isobar-damon".into()).spawn(move || read_on(&of, &theirs));
        let reader = reader.map_err(|error| {
            let _ = admin.clear();
            format!("cannot start a thread to read DAMON: {error}")
        })?;
        Ok(Self { admin, shared, reader: Some(reader), _lock: lock })
    }
}

impl Engine for Damon {
    fn describe(&self) -> &'static str {
        "by DAMON, for the 4 busiest processes"
    }

    fn step(&mut self, wanted: &[Watched]) -> BTreeMap<Pid, Reading> {
        let wanted: Vec<_> = wanted.iter().map(|process| (process.pid, process.start)).collect();
        let mut shared = lock(&self.shared);
        shared.wanted = chosen(&shared.wanted, &wanted);
        std::mem::take(&mut shared.found)
    }
}

impl Drop for Damon {
    fn drop(&mut self) {
        lock(&self.shared).stop = true;
        // The reader ends first: the kernel (6.12) hangs for ever if settings are removed while a
        // write to one of their files waits for a kdamond. The reader ends within two aggregations.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let _ = self.admin.clear();
    }
}

/// Locks the shared data, even if the other side panicked while it held the lock: the lock guards
/// plain data.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads slot after slot until it is told to stop.
fn read_on(admin: &Admin, shared: &Mutex<Shared>) {
    let page_size = procfs::page_size();
    let mut slots: BTreeMap<u64, Who> = BTreeMap::new();
    let mut readings: BTreeMap<u64, (u32, Agreement)> = BTreeMap::new();
    loop {
        let wanted = {
            let shared = lock(shared);
            if shared.stop {
                return;
            }
            shared.wanted.clone()
        };
        let (over, fresh) = changes(&slots, &wanted);
        for slot in over {
            let _ = admin.stop(slot);
            slots.remove(&slot);
        }
        for (slot, (pid, start)) in fresh {
            let same = identity::process(pid).is_some_and(|task| task.start == start);
            if same && admin.start(slot, pid).is_ok() {
                slots.insert(slot, (pid, start));
                readings.insert(slot, Default::default());
            }
        }
        for (slot, (pid, start)) in slots.clone() {
            if lock(shared).stop {
                return;
            }
            match admin.regions(slot, page_size) {
                Ok(stretches) => {
                    let (before, agreement) = readings.entry(slot).or_default();
                    *before = before.saturating_add(1);
                    if *before <= COARSE {
                        continue;
                    }
                    if let Some(stretches) = agreement.add(stretches) {
                        lock(shared).found.insert(pid, Reading { start, stretches, by_node: None });
                    }
                }
                // The process has ended, and its kdamond with it.
                Err(_) => {
                    let _ = admin.stop(slot);
                    slots.remove(&slot);
                }
            }
        }
        thread::sleep(PAUSE);
    }
}

/// Which of the wanted processes to watch, the busiest first. A process that is watched stays as
/// long as it is among the first `2 * SLOTS` wanted ones: DAMON takes some time to find the regions
/// of a process.
fn chosen(watched: &[Who], wanted: &[Who]) -> Vec<Who> {
    let most = usize::try_from(SLOTS).unwrap_or(usize::MAX);
    let near = &wanted[..wanted.len().min(most.saturating_mul(2))];
    let kept: Vec<_> = watched.iter().copied().filter(|who| near.contains(who)).collect();
    let fresh: Vec<_> = wanted.iter().copied().filter(|who| !kept.contains(who)).collect();
    kept.into_iter().chain(fresh).take(most).collect()
}

/// The slots to stop, and the processes to start with their slots. A process that is already
/// watched stays in its slot.
fn changes(slots: &BTreeMap<u64, Who>, wanted: &[Who]) -> (Vec<u64>, Vec<(u64, Who)>) {
    let over: Vec<u64> = slots.iter().filter(|(_, who)| !wanted.contains(who)).map(|(slot, _)| *slot).collect();
    let free = (0..SLOTS).filter(|slot| !slots.contains_key(slot) || over.contains(slot));
    let fresh = wanted.iter().filter(|who| !slots.values().any(|known| known == *who));
    let fresh: Vec<_> = free.zip(fresh.copied()).collect();
    (over, fresh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_slips_a_little_is_watched_on() {
        let who = |pids: &[u32]| pids.iter().map(|pid| (Pid(*pid), 7)).collect::<Vec<_>>();
        assert_eq!(chosen(&[], &who(&[1, 2, 3, 4, 5])), who(&[1, 2, 3, 4]));
        assert_eq!(chosen(&who(&[1, 2, 3, 4]), &who(&[9, 8, 1, 7, 6, 4, 2])), who(&[1, 2, 4, 9]));
        let far = who(&[9, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(chosen(&who(&[1, 2]), &far), who(&[2, 9, 8, 7]), "1 is the ninth");
    }

    #[test]
    fn who_is_watched_stays_and_others_take_the_free_slots() {
        let who = |pid| (Pid(pid), 7);
        let slots = BTreeMap::from([(0, who(1)), (1, who(2)), (3, who(3))]);
        let (over, fresh) = changes(&slots, &[who(9), who(2), who(8), who(1)]);
        assert_eq!(over, [3]);
        assert_eq!(fresh, [(2, who(9)), (3, who(8))]);
        // The same pid, but another process.
        assert_eq!(changes(&slots, &[(Pid(1), 8)]), (vec![0, 1, 3], vec![(0, (Pid(1), 8))]));
    }
}
