//! Runs the boots of one or several experiments, some side by side, until each experiment has
//! enough. A boot whose result is stored is read instead of run again, and a boot that ends well is
//! stored.

use super::origin;
use super::progress::{self, Watched};
use numasim_lab::LabError;
use numasim_lab::boot::{self, Host, Task, boot};
use numasim_lab::command::left;
use numasim_lab::ending::Ending;
use numasim_lab::experiment::Experiment;
use numasim_lab::identity::Identity;
use numasim_lab::plan::{self, Options};
use numasim_lab::stopping::{self, Progress, Rule, Stop};
use numasim_lab::stored::{self, Stored};
use numasim_lab::summary::{Boot, summary};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An experiment of a campaign.
pub struct Entry {
    /// The experiment, for which one table is made.
    pub experiment: Experiment,
    /// How its runs are carried out.
    pub options: Options,
    /// What its boots need.
    pub host: Host,
    /// Text that precedes the number of a boot in messages.
    pub label: String,
    /// The folder that contains the folders of its boots.
    pub folder: PathBuf,
    /// The repeats that this machine runs, in order.
    pub repeats: Vec<u32>,
    /// The rule that says when it has enough.
    pub rule: Rule,
    /// Where its results are stored, if they are kept.
    pub store: Option<Store>,
}

/// Where results of an experiment are stored.
pub struct Store {
    /// The folder.
    pub folder: PathBuf,
    /// What the boots depend on.
    pub identity: Identity,
    /// The command that boots one of the boots again, without its seed.
    pub command: String,
    /// The commit of the sources.
    pub commit: String,
}

/// The result of an experiment.
#[derive(Default)]
pub struct Outcome {
    /// Its boots, by repeat.
    pub boots: Vec<Boot>,
    /// Why no further boot was begun; `None` if something went wrong before.
    pub stop: Option<Stop>,
}

/// Which entry boots next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootOrder {
    /// All boots of an entry, then all boots of the next.
    Whole,
    /// One boot of each entry in turn, so that each has its share of a budget.
    Each,
    /// One boot of each in turn, for pairs of entries whose boots of one seed are compared: both
    /// boots are run, or neither.
    Pairs,
}

impl BootOrder {
    /// Number of entries that belong together.
    const fn together(self) -> usize {
        match self {
            Self::Whole | Self::Each => 1,
            Self::Pairs => 2,
        }
    }

    /// The entry whose turn it is, among those that have not ended.
    fn next(self, stands: &[Stand]) -> Option<usize> {
        let open = stands.iter().enumerate().filter(|(_, stand)| stand.stop.is_none());
        let mut open = open.map(|(at, stand)| (stand.begun, at));
        let next = if self == Self::Whole { open.next() } else { open.min() };
        next.map(|(_, at)| at)
    }

    /// The entries that belong together with the given one, which is included.
    fn group(self, at: usize, count: usize) -> Range<usize> {
        let first = at - at % self.together();
        first..count.min(first + self.together())
    }
}

/// Runs all entries. The finished boots are returned even if something went wrong.
pub fn run(
    entries: &[Entry],
    turns: BootOrder,
    jobs: u32,
    interrupted: &AtomicBool,
) -> (Vec<Outcome>, Result<(), LabError>) {
    let stands = entries.iter().map(|_| Stand::default()).collect();
    let state = Mutex::new(State { began: Instant::now(), stands, failed: None });
    let campaign = Campaign { entries, turns, jobs, state, watched: Mutex::default(), interrupted };
    let all_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| progress::notify(&campaign.watched, &all_done));
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(|| campaign.work())).collect();
        let panicked = workers.into_iter().find_map(|worker| worker.join().err());
        // The thread that reports progress must end whatever the workers return, or the scope would
        // wait for ever.
        all_done.store(true, Ordering::Relaxed);
        if let Some(panic) = panicked {
            std::panic::resume_unwind(panic);
        }
    });
    campaign.state.into_inner().unwrap_or_else(PoisonError::into_inner).outcome()
}

struct Campaign<'a> {
    entries: &'a [Entry],
    turns: BootOrder,
    jobs: u32,
    state: Mutex<State>,
    watched: Mutex<Vec<Watched>>,
    interrupted: &'a AtomicBool,
}

struct State {
    began: Instant,
    stands: Vec<Stand>,
    failed: Option<LabError>,
}

/// The state of an entry.
#[derive(Default)]
struct Stand {
    begun: usize,
    boots: Vec<Boot>,
    /// The longest boot of this campaign; the next field has the longest of the stored boots.
    longest: Option<Duration>,
    longest_stored: Option<Duration>,
    stop: Option<Stop>,
}

/// A boot, and the time that it took, here or when it was stored.
struct Booted {
    boot: Boot,
    took: Duration,
    stored: bool,
}

impl Campaign<'_> {
    /// Runs boot after boot until none is left or something fails.
    fn work(&self) {
        while let Some((at, repeat)) = self.take() {
            let booted = self.one(&self.entries[at], repeat);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match booted {
                Ok(booted) => state.stands[at].add(booted),
                Err(error) => _ = state.failed.get_or_insert(error),
            }
        }
    }

    /// The next boot: entry and repeat. Also marks the entries that have enough.
    fn take(&self) -> Option<(usize, u32)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let at = self.turns.next(&state.stands).filter(|_| state.failed.is_none())?;
            let (entry, spent) = (&self.entries[at], state.began.elapsed());
            let group = self.turns.group(at, state.stands.len());
            let begun = state.stands[at].begun;
            // If its partner has begun the boot of this seed, this entry must boot it, too,
            // whatever it costs.
            let owed = state.stands[group.clone()].iter().any(|other| other.begun > begun);
            let boot = expected(&state.stands, group.clone(), self.jobs);
            let stop = stopping::next(&entry.rule, &state.stands[at].progress(entry, (spent, boot)));
            if let Some(stop) = stop.filter(|_| !owed) {
                state.stands[group].iter_mut().for_each(|stand| stand.stop = Some(stop));
                continue;
            }
            let repeat = *entry.repeats.get(begun)?;
            state.stands[at].begun += 1;
            return Some((at, repeat));
        }
    }

    fn one(&self, entry: &Entry, repeat: u32) -> Result<Booted, LabError> {
        let seed = entry.experiment.seed + u64::from(repeat);
        let label = format!("{}boot {}", entry.label, repeat + 1);
        let path = entry
            .store
            .as_ref()
            .map(|store| (store, stored::path(&store.folder, &entry.experiment.name, seed, &store.identity)));
        if let Some((store, path)) = &path
            && let Some(found) = stored::read(path)?
        {
            eprintln!("{label}: is in {} already", path.display());
            return found_again(found, store, path, repeat);
        }
        let began = Instant::now();
        let (boot, qemu_version) = (self.boot(entry, (repeat, seed), &label)?, entry.host.qemu.version.clone());
        let took = began.elapsed();
        if let Some((store, path)) = path.filter(|_| boot.problem.is_none()) {
            stored::write(&path, &store.stored(entry, &boot, (seed, took.as_secs_f64(), qemu_version)))?;
        }
        Ok(Booted { boot, took, stored: false })
    }

    fn boot(&self, entry: &Entry, (repeat, seed): (u32, u64), label: &str) -> Result<Boot, LabError> {
        let Entry { experiment, options, host, .. } = entry;
        let order = plan::order(experiment, &host.spec, repeat, options);
        let order = order.map_err(|problem| LabError::input(&experiment.name, problem))?;
        let (folder, runs, began) = (entry.folder.join(boot::folder(repeat)), plan::runs(&order), Instant::now());
        // Removes what an earlier boot left in a kept folder, so that it is not shown as this
        // boot's.
        _ = std::fs::remove_file(folder.join(left::RESULTS));
        let watched = Watched { label: label.to_owned(), folder: folder.clone(), runs, shown: 0 };
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
        let booted = boot(host, &Task::Order { order: &order, seed }, &folder, self.interrupted);
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).retain(|watched| watched.folder != folder);
        let booted = booted?;
        let words = booted.ending.in_words(host.limit_seconds);
        eprintln!("{label}: {runs} runs in {:.0} s: {words}", began.elapsed().as_secs_f64());
        let problem = (booted.ending != Ending::Done).then_some(words);
        Ok(Boot { repeat, order, lines: booted.remains.lines, problem })
    }
}

/// How long the next boot of each entry of a group is expected to take, with this number of jobs:
/// as long as the longest boot of the entry or, before one has ended, the longest of the campaign.
/// `None` if no boot has ended.
fn expected(stands: &[Stand], group: Range<usize>, jobs: u32) -> Option<Duration> {
    let longest = |of: fn(&Stand) -> Option<Duration>| stands.iter().filter_map(of).max();
    let any = longest(|stand| stand.longest).or_else(|| longest(|stand| stand.longest_stored));
    let each = stands[group.clone()].iter().filter_map(|stand| stand.longest.or(stand.longest_stored).or(any));
    let side_by_side = usize::try_from(jobs).unwrap_or(usize::MAX) >= group.len();
    any.map(|_| if side_by_side { each.max().unwrap_or_default() } else { each.sum() })
}

/// A stored boot, if it depends on the same things.
fn found_again(found: Stored, store: &Store, path: &Path, repeat: u32) -> Result<Booted, LabError> {
    if found.identity != store.identity {
        let problem = "is a boot of other files with the same name: remove it, and the boot is run again";
        return Err(LabError::input(&path.display().to_string(), problem));
    }
    let took = Duration::try_from_secs_f64(found.host_seconds).unwrap_or_default();
    Ok(Booted { took, boot: found.boot(repeat), stored: true })
}

impl Store {
    fn stored(&self, entry: &Entry, boot: &Boot, (seed, host_seconds, qemu_version): (u64, f64, String)) -> Stored {
        let chosen = plan::contenders(&entry.experiment, &entry.options.only);
        let contender = chosen.into_iter().cloned().collect();
        Stored {
            numasim_boot: stored::VERSION,
            experiment: Experiment { contender, ..entry.experiment.clone() },
            time_scale: entry.host.spec.time_scale,
            cache_scale: entry.host.spec.cache_scale,
            seed,
            identity: self.identity.clone(),
            command: format!("{} --seed {seed} --repeats 1", self.command),
            commit: self.commit.clone(),
            qemu_version,
            host_seconds,
            order: boot.order.clone(),
            lines: boot.lines.clone(),
        }
    }
}

impl Stand {
    fn add(&mut self, Booted { boot, took, stored }: Booted) {
        let longest = if stored { &mut self.longest_stored } else { &mut self.longest };
        *longest = (*longest).max(Some(took));
        self.boots.push(boot);
        self.boots.sort_by_key(|boot| boot.repeat);
    }

    fn progress(&self, entry: &Entry, (spent, boot): (Duration, Option<Duration>)) -> Progress {
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let half_widths = || stopping::half_widths(&entry.summary(&self.boots));
        Progress { begun: count(self.begun), ended: count(self.boots.len()), half_widths: half_widths(), spent, boot }
    }
}

impl Entry {
    /// Adds the kernel to the command that boots one of its boots again.
    pub fn name_kernel(&mut self) {
        if let Some(store) = &mut self.store {
            store.command = origin::under(&self.host.kernel_from, &store.command);
        }
    }

    /// The table over some boots.
    pub fn summary(&self, boots: &[Boot]) -> numasim_lab::summary::Summary {
        let scales = (self.host.spec.time_scale, self.host.spec.cache_scale);
        summary(&self.experiment, &self.options.only, scales, boots)
    }
}

impl State {
    fn outcome(self) -> (Vec<Outcome>, Result<(), LabError>) {
        let one = |stand: Stand| Outcome { boots: stand.boots, stop: stand.stop };
        (self.stands.into_iter().map(one).collect(), self.failed.map_or(Ok(()), Err))
    }
}

#[cfg(test)]
#[path = "campaign_tests.rs"]
mod tests;
