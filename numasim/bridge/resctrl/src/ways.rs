//! The page in the role of resctrl's hardware: masks of classes, classes of CPUs and of threads,
//! and counts by class.

use crate::domains::Domains;
use isobar_resctrl_double::{Allocation, Event, Hardware};
use numasim_page::{Guest, Mapping, PageError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long to wait for the plugin, which applies changes at the end of a window, a fraction of a
/// millisecond of guest time.
const PATIENCE: Duration = Duration::from_millis(500);

/// A thread that has just begun to run appears on the page at the next publication, a millisecond
/// of guest time later.
const APPEARS: Duration = Duration::from_millis(2);

/// Shared by the file system and the end of the program.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Ways>>);

/// The page, and the allocation that is to be in force on it.
pub struct Ways {
    page: Guest<Mapping>,
    domains: Domains,
    /// Mask of all ways that resctrl shows.
    all: u32,
    wanted: Allocation,
    /// Whether the plugin did not answer, which has been reported.
    silent: bool,
}

impl Ways {
    /// Changes nothing on the page yet.
    pub fn new(page: Guest<Mapping>, domains: Domains, all: u32) -> Self {
        Self { page, domains, all, wanted: Allocation::default(), silent: false }
    }

    /// Gives classes their ways, and CPUs and threads their classes. If threads are not counted,
    /// everything else is done nevertheless. Returns whether a thread is missing on the page.
    fn enforce(&mut self) -> Result<bool, PageError> {
        let mut changed = self.set_masks()?;
        for cpu in 0..self.page.header().cpus.len() {
            let rmid = u32::try_from(cpu).ok().and_then(|cpu| self.wanted.cpus.get(&cpu).copied());
            let class = rmid.map_or(0, class);
            if self.page.class(cpu) != class {
                self.page.set_class(cpu, class)?;
                changed = true;
            }
        }
        let threads: BTreeMap<u64, usize> =
            self.wanted.tasks.iter().map(|(tid, rmid)| (u64::from(*tid), class(*rmid))).collect();
        let asked = self.page.set_thread_classes(&threads);
        if changed || asked.as_ref().is_ok_and(|asked| asked.changed) {
            self.page.wait(self.page.commit(), PATIENCE)?;
        }
        Ok(asked?.missing > 0)
    }

    fn set_masks(&self) -> Result<bool, PageError> {
        let mut changed = false;
        for (llc, figures) in self.page.header().llcs.iter().enumerate() {
            let domain = self.domains.ids().find(|id| self.domains.llc(*id) == Some(llc));
            for class in 0..self.page.header().classes {
                let rmid = u32::try_from(class).unwrap_or(u32::MAX);
                let mask = domain.and_then(|domain| self.wanted.masks.get(&(rmid, domain)).copied());
                // Of a cache with more ways than resctrl shows, "all" means all of the cache's
                // ways.
                let mask = mask.filter(|mask| *mask != self.all).map_or_else(|| figures.full_mask(), u64::from);
                if self.page.mask(llc, class) != mask {
                    self.page.set_mask(llc, class, mask)?;
                    changed = true;
                }
            }
        }
        Ok(changed)
    }

    /// Reports an error once for each time that the plugin stops answering.
    fn complain(&mut self, done: Result<(), PageError>) {
        match done {
            Ok(()) => self.silent = false,
            Err(error) if !self.silent => {
                self.silent = true;
                eprintln!("numasim-resctrl: the groups cannot be applied: {error}");
            }
            Err(_) => {}
        }
    }
}

/// The class of the page that counts an RMID.
fn class(rmid: u32) -> usize {
    usize::try_from(rmid).unwrap_or(usize::MAX)
}

impl Shared {
    pub fn new(ways: Ways) -> Self {
        Self(Arc::new(Mutex::new(ways)))
    }

    fn lock(&self) -> MutexGuard<'_, Ways> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts all CPUs into class 0, and gives all classes all ways.
    pub fn put_back(&self) -> Result<(), PageError> {
        let mut ways = self.lock();
        ways.wanted = Allocation::default();
        ways.enforce().map(drop)
    }
}

impl Hardware for Shared {
    fn allocate(&mut self, wanted: &Allocation) {
        let mut ways = self.lock();
        let news = ways.wanted != *wanted;
        ways.wanted = wanted.clone();
        let mut done = ways.enforce();
        if news && matches!(done, Ok(true)) {
            std::thread::sleep(APPEARS);
            done = ways.enforce();
        }
        ways.complain(done.map(drop));
    }

    fn count(&self, event: Event, rmid: u32, domain: u32) -> Option<u64> {
        let ways = self.lock();
        let llc = ways.domains.llc(domain)?;
        let snapshot = ways.page.snapshot().ok()?;
        let figures = snapshot.classes.get(llc)?.get(usize::try_from(rmid).ok()?)?;
        Some(match event {
            Event::Occupancy => figures.occupancy,
            Event::TotalBytes => figures.total_bytes,
            Event::LocalBytes => figures.local_bytes,
        })
    }
}
