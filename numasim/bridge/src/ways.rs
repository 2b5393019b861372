//! Carries out `set_ways` on the page: clusters become classes of service with one mask per LLC,
//! and each CPU gets the class of the threads that run on it ([`super::placement`]).
//!
//! All requests of a plan are handled together, as with resctrl. A request that cannot be carried
//! out is refused, and the previous state stays in force. [`CacheWays::restore`] and the drop of
//! this actuator put everything back.

use crate::error::NumasimError;
use crate::page::Page;
use crate::placement::{Classes, Spot, assign, place};
use crate::topology::{LlcMap, llc_map};
use isobar_linux::kernel::identity;
use isobar_linux::machine::{BoxedError, CacheWays, Save};
use isobar_linux::resctrl::clusters::{Clusters, Threads};
use isobar_linux::resctrl::request::{Request as Wish, Requests as GuestSettings};
use isobar_model::{ActionOutcome, LlcId, Sample, Tid, Topology, num};
use numasim_page::PageError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for the plugin, which applies changes at the end of a window, a fraction of a
/// millisecond of guest time.
const PATIENCE: Duration = Duration::from_millis(500);

/// What every run says about these ways.
pub const REMARK: &str =
    "cache ways of the numasim test machine: a CPU has the class of the threads that used most of it";

/// The actuator's state, and its part of the page.
#[derive(Debug)]
pub struct PageWays {
    page: Arc<Page>,
    map: LlcMap,
    /// The kernel's LLC of each CPU of the page.
    llcs: Vec<Option<LlcId>>,
    clusters: Clusters,
    classes: Classes,
    spots: BTreeMap<Tid, Spot>,
    /// CPU time of each thread at the last sample, in nanoseconds.
    times: BTreeMap<Tid, u64>,
    touched: bool,
    /// The last change, as long as the plugin has not answered it.
    unanswered: Option<u64>,
    remarks: BTreeSet<String>,
}

impl PageWays {
    /// Changes nothing on the page yet.
    ///
    /// # Errors
    /// [`NumasimError`] if the kernel's caches are not those of the page.
    pub fn new(page: Arc<Page>, topology: &Topology) -> Result<Self, NumasimError> {
        let map = llc_map(topology, page.header())?;
        let of = |place: &numasim_page::Place| map.iter().find(|(_, index)| **index == place.llc).map(|(llc, _)| *llc);
        let llcs = page.header().cpus.iter().map(of).collect();
        Ok(Self {
            page,
            map,
            llcs,
            clusters: Clusters::default(),
            classes: Classes::new(),
            spots: BTreeMap::new(),
            times: BTreeMap::new(),
            touched: false,
            unanswered: None,
            remarks: BTreeSet::new(),
        })
    }

    /// Puts all CPUs into class 0, and gives all classes all ways.
    fn put_back(&mut self) -> Result<(), PageError> {
        (self.clusters, self.classes) = (Clusters::default(), Classes::new());
        if self.touched {
            self.enforce(&Clusters::default(), &Classes::new())?;
            self.touched = false;
        }
        Ok(())
    }

    fn carry_out_all(&mut self, wishes: Vec<Wish>) -> Vec<ActionOutcome> {
        let mut wishes = GuestSettings::new(wishes);
        self.remarks.clear();
        while wishes.open().next().is_some() {
            let target = wishes.target(self.clusters.clone(), |wish| self.screen(wish));
            let most = self.page.header().classes.saturating_sub(1);
            match assign(&target, &self.classes, most) {
                Ok(classes) => {
                    self.carry_out(target, classes, &mut wishes);
                    break;
                }
                Err(llc) => self.do_without(llc, most, &mut wishes),
            }
        }
        wishes.into_outcomes()
    }

    /// The threads of a request that can be put into its cluster, or the reason why the request is
    /// not carried out.
    fn screen(&self, wish: &Wish) -> Result<Threads, ActionOutcome> {
        let llc = wish.key.llc;
        let Some(index) = self.map.get(&llc) else {
            return Err(refused(format!("llc {llc} is not a last-level cache of the numasim page")));
        };
        if wish.percent.is_some() {
            let why = "memory_bandwidth_percent: the numasim machine has no memory-bandwidth allocation; leave it out";
            return Err(refused(why.to_owned()));
        }
        let checked = self.page.header().check_mask(*index, 0, wish.way_mask);
        checked.map_err(|why| refused(format!("way mask {:#x} of llc {llc}: {why}", wish.way_mask)))?;
        let mut threads = wish.threads.clone();
        threads.retain(|tid, (pid, start)| identity::lives(*pid, *tid, *start));
        if threads.is_empty() && wish.asked > 0 { Err(ActionOutcome::Vanished) } else { Ok(threads) }
    }

    /// Gives up a cluster of an LLC that has too many: a request is refused or, if the plan does
    /// not name the cluster, a cluster that is in force is removed.
    fn do_without(&mut self, llc: LlcId, most: usize, wishes: &mut GuestSettings) {
        let Some(key) = wishes.surplus(llc, &self.clusters) else {
            return wishes.settle(&refused(format!("llc {llc} has too few classes of service")), |_| true);
        };
        let why =
            format!("llc {llc} has {most} classes of service besides the default: let the policy use fewer clusters");
        if !wishes.settle_last(&key, &refused(why.clone())) {
            self.clusters.remove(&key);
            self.remarks.insert(format!("cluster {} of llc {llc} is given up: {why}", key.name.escape_debug()));
        }
    }

    fn carry_out(&mut self, target: Clusters, classes: Classes, wishes: &mut GuestSettings) {
        self.look_again_at(&target);
        match self.enforce(&target, &classes) {
            Ok(()) => (self.clusters, self.classes) = (target, classes),
            Err(error) => {
                wishes.settle(&refused(error.to_string()), |_| true);
                self.keep_up();
            }
        }
    }

    /// Makes the page agree again with what is in force.
    fn keep_up(&mut self) {
        if self.touched {
            let (clusters, classes) = (self.clusters.clone(), self.classes.clone());
            if let Err(error) = self.enforce(&clusters, &classes) {
                self.remarks.insert(format!("numasim: classes of CPUs do not follow threads: {error}"));
            }
        }
    }

    /// Writes what differs, and waits until it is in force.
    fn enforce(&mut self, clusters: &Clusters, classes: &Classes) -> Result<(), PageError> {
        let mut changed = self.enforce_masks(clusters, classes)?;
        for (cpu, class) in place(clusters, classes, &self.spots, &self.llcs).into_iter().enumerate() {
            if self.page.class(cpu) != class {
                self.page.set_class(cpu, class)?;
                changed = true;
            }
        }
        if changed {
            self.touched = true;
            self.unanswered = Some(self.page.commit());
        }
        self.unanswered.map_or(Ok(()), |generation| self.wait(generation))
    }

    fn wait(&mut self, generation: u64) -> Result<(), PageError> {
        let answer = self.page.wait(generation, PATIENCE);
        if !matches!(answer, Err(PageError::Unanswered { .. })) {
            self.unanswered = None;
        }
        answer
    }

    fn enforce_masks(&self, clusters: &Clusters, classes: &Classes) -> Result<bool, PageError> {
        let wanted = classes.iter().filter_map(|(key, class)| {
            let llc = *self.map.get(&key.llc)?;
            Some(((llc, *class), clusters.get(key)?.way_mask))
        });
        let wanted: BTreeMap<(usize, usize), u64> = wanted.collect();
        let mut changed = false;
        for (llc, figures) in self.page.header().llcs.iter().enumerate() {
            for class in 0..self.page.header().classes {
                let mask = wanted.get(&(llc, class)).copied().unwrap_or_else(|| figures.full_mask());
                if self.page.mask(llc, class) != mask {
                    self.page.set_mask(llc, class, mask)?;
                    changed = true;
                }
            }
        }
        Ok(changed)
    }

    /// Records where each thread is, and how much CPU time it used since the last sample.
    fn see(&mut self, sample: &Sample) {
        let times = std::mem::take(&mut self.times);
        self.spots.clear();
        for thread in sample.processes.iter().flat_map(|process| &process.threads) {
            let now = thread.cpu_time.map_or(0, |time| num::round(time.0 * 1e9));
            let before = times.get(&thread.tid).copied().unwrap_or(0);
            self.times.insert(thread.tid, now);
            if let Some(cpu) = thread.cpu {
                let time_ns = now.saturating_sub(before);
                self.spots.insert(thread.tid, Spot { cpu: num::index(cpu.0), time_ns });
            }
        }
    }

    fn look_again_at(&mut self, clusters: &Clusters) {
        for (tid, pid, ..) in clusters.members() {
            // The CPU on which the thread runs or last ran.
            if let Some(cpu) = identity::task(pid, tid).and_then(|task| task.cpu) {
                let cpu = num::index(cpu.0);
                self.spots.entry(tid).or_insert(Spot { cpu, time_ns: 0 }).cpu = cpu;
            }
        }
    }
}

impl<E> CacheWays<E> for PageWays {
    /// Nothing has to be saved: the page is put back whenever this process ends in order, and a
    /// guest's page ends with the guest.
    fn apply(&mut self, wishes: Vec<Wish>, _: u32, _: Save<'_, E>) -> Result<Vec<ActionOutcome>, E> {
        Ok(self.carry_out_all(wishes))
    }

    fn follow(&mut self, sample: &Sample) {
        self.see(sample);
        if !self.clusters.is_empty() {
            let threads = sample.processes.iter().flat_map(|process| &process.threads);
            let alive: BTreeSet<(Tid, u64)> = threads.map(|thread| (thread.tid, thread.start)).collect();
            self.clusters.retain(|tid, start| alive.contains(&(tid, start)));
            self.classes.retain(|key, _| self.clusters.get(key).is_some());
        }
        self.keep_up();
    }

    fn follow_moves(&mut self) {
        self.look_again_at(&self.clusters.clone());
        self.keep_up();
    }

    fn remarks(&self) -> Vec<String> {
        [REMARK.to_owned()].into_iter().chain(self.remarks.iter().cloned()).collect()
    }

    fn restore(&mut self) -> Result<(), BoxedError> {
        self.put_back().map_err(|source| NumasimError::PutBack { source }.into())
    }
}

impl Drop for PageWays {
    fn drop(&mut self) {
        // If the plugin no longer answers, there is no machine to put back.
        let _ = self.put_back();
    }
}

const fn refused(why: String) -> ActionOutcome {
    ActionOutcome::Refused { errno: None, why }
}
