//! The counters of all counted threads: which events this machine has (tried on ourselves, once), who is counted, and what
//! the kernel refused.

use super::budget::{Candidate, choose};
use super::cpu_model::CpuModel;
use super::descriptors;
use super::events::{Event, LlcPair, Role, Row, row_for, software_row};
use super::group::{Group, Members, Modes, attributes, open};
use super::pmu::{Code, Pmu};
use super::{CounterSource, SensorOptions, why};
use isobar_model::{Counters, Tid};
use perf_event_open_sys::bindings;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};

/// The events that open on this machine, and why others do not.
#[derive(Debug)]
pub struct Available {
    /// One group for each core PMU; empty where nothing opens.
    pub groups: Vec<Members>,
    /// Modes that may be counted.
    pub modes: Modes,
    /// What the kernel said to the events that do not open.
    pub refused: BTreeMap<Role, Errno>,
    /// The table's row in use.
    pub row: &'static str,
}

/// Tries the events of the CPU's row on the calling thread.
#[must_use]
pub fn available(source: CounterSource, cpu: &CpuModel, pmus: &[Pmu]) -> Available {
    let row = match source {
        CounterSource::Auto => row_for(cpu),
        CounterSource::Software => software_row(),
        // Counters come from elsewhere.
        CounterSource::Numasim => return Available::nothing("numasim"),
    };
    let nameless = [Pmu::nameless()];
    let pmus = if pmus.is_empty() || source == CounterSource::Software { &nameless[..] } else { pmus };
    let mut found = Available::nothing(row.name);
    for pmu in pmus {
        let members = fitting(found.try_row(row, pmu), found.modes);
        if !members.is_empty() {
            found.groups.push(members);
        }
    }
    found
}

/// Drops references, then cycles, where the CPU has too few counters for the whole group at once (`EINVAL`): a group that
/// does not fit would never be counted.
fn fitting(mut members: Members, modes: Modes) -> Members {
    for expendable in [Role::LlcReferences, Role::Cycles] {
        if Group::open(&members, Tid(0), modes).err() == Some(Errno::INVAL) {
            members.retain(|(role, _)| *role != expendable);
        }
    }
    members
}

impl Available {
    const fn nothing(row: &'static str) -> Self {
        Self { groups: Vec::new(), modes: Modes::All, refused: BTreeMap::new(), row }
    }

    fn try_row(&mut self, row: &Row, pmu: &Pmu) -> Members {
        let mut members = Members::new();
        for (role, event) in [(Role::Instructions, row.instructions), (Role::Cycles, row.cycles)] {
            members.extend(self.try_event(role, event, pmu).map(|code| (role, code)));
        }
        members.extend(row.llc.iter().find_map(|pair| self.try_pair(pair, pmu)).into_iter().flatten());
        members
    }

    /// References are worth nothing without misses, misses are without references.
    fn try_pair(&mut self, pair: &LlcPair, pmu: &Pmu) -> Option<Members> {
        let misses = self.try_event(Role::LlcMisses, pair.misses, pmu)?;
        let references = self.try_event(Role::LlcReferences, pair.references, pmu);
        let references = references.map(|code| (Role::LlcReferences, code));
        Some(references.into_iter().chain([(Role::LlcMisses, misses)]).collect())
    }

    /// Where kernel mode is forbidden, user mode alone is tried, and its answer is the one that counts: the kernel checks the
    /// permission before it looks for the event.
    fn try_event(&mut self, role: Role, event: Event, pmu: &Pmu) -> Option<Code> {
        let code = pmu.code(event)?;
        let mut modes = self.modes;
        let mut answer = opens(code, modes);
        if matches!(answer, Err(Errno::ACCESS | Errno::PERM)) && modes == Modes::All {
            modes = Modes::User;
            answer = opens(code, modes);
        }
        match answer {
            Ok(()) => self.refused.remove(&role),
            Err(errno) => self.refused.insert(role, errno),
        };
        answer.ok()?;
        self.modes = modes;
        Some(code)
    }

    /// Descriptors that one thread needs.
    #[must_use]
    pub fn per_thread(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// Whether a role is counted.
    #[must_use]
    pub fn counts(&self, role: Role) -> bool {
        self.groups.iter().flatten().any(|(counted, _)| *counted == role)
    }
}

/// Whether an event opens on the calling thread.
pub(super) fn opens(code: Code, modes: Modes) -> Result<(), Errno> {
    open(&mut attributes(code, modes), Tid(0), None).map(drop)
}

/// Whether software events open: the difference between "no PMU" and "no perf".
#[must_use]
pub fn software_opens() -> bool {
    let config = [u64::from(bindings::PERF_COUNT_SW_TASK_CLOCK), 0, 0];
    opens(Code { kind: bindings::PERF_TYPE_SOFTWARE, config }, Modes::User).is_ok()
}

/// How often places of forbidden threads are given to others in one update.
const ROUNDS: usize = 16;

/// A counted thread.
#[derive(Debug)]
struct Counted {
    start: u64,
    groups: Vec<Group>,
    last: Counters,
    /// Whether the last reading was another than the one before.
    moving: bool,
}

/// The open counters.
#[derive(Debug)]
pub struct CounterSet {
    /// What this machine has.
    pub available: Available,
    threads: BTreeMap<Tid, Counted>,
    /// Threads whose counters the kernel forbids us, as long as they live.
    forbidden: BTreeSet<(Tid, u64)>,
    limit: u64,
    fixed_limit: bool,
    /// Descriptors in use by others in this process: at the start, and again after the limit was met.
    others: usize,
    reserve: usize,
    max_threads: usize,
    state: Refusals,
}

/// What stood in the way at the last update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Refusals {
    wanted: usize,
    descriptors: bool,
    refused: usize,
    errno: Option<Errno>,
    reads_zero: bool,
}

impl CounterSet {
    /// No thread is counted yet.
    #[must_use]
    pub fn new(options: &SensorOptions, available: Available) -> Self {
        let limit = options.descriptor_limit.unwrap_or_else(descriptors::raise_limit);
        Self {
            available,
            threads: BTreeMap::new(),
            forbidden: BTreeSet::new(),
            limit,
            fixed_limit: options.descriptor_limit.is_some(),
            others: descriptors::in_use(),
            reserve: options.descriptor_reserve,
            max_threads: options.max_threads,
            state: Refusals::default(),
        }
    }

    /// Whether a thread is counted.
    #[must_use]
    pub fn is_counted(&self, tid: Tid, start: u64) -> bool {
        self.threads.get(&tid).is_some_and(|thread| thread.start == start)
    }

    /// Decides anew who is counted, closes and opens accordingly. `candidates` are all threads of the sample.
    pub fn update(&mut self, candidates: &[Candidate]) {
        if self.available.groups.is_empty() {
            return;
        }
        let alive: BTreeSet<_> = candidates.iter().map(|thread| (thread.tid, thread.start)).collect();
        self.forbidden.retain(|thread| alive.contains(thread));
        let reads_zero = self.state.reads_zero;
        self.state = Refusals { reads_zero, ..Refusals::default() };
        // A place that a forbidden thread does not take goes to the next one at once.
        for _ in 0..ROUNDS {
            let forbidden = self.forbidden.len();
            self.share_out(candidates);
            if self.forbidden.len() == forbidden {
                break;
            }
        }
    }

    fn share_out(&mut self, candidates: &[Candidate]) {
        let permitted = |thread: &&Candidate| !self.forbidden.contains(&(thread.tid, thread.start));
        let permitted: Vec<_> = candidates.iter().filter(permitted).copied().collect();
        let capacity = self.capacity();
        let chosen = choose(&permitted, capacity.min(self.max_threads));
        self.state.wanted = permitted.iter().filter(|thread| thread.counted || thread.load > 0).count();
        self.state.descriptors = self.state.wanted > capacity && capacity < self.max_threads;
        self.close_all_but(&chosen);
        let mut fresh: Vec<_> = chosen.iter().filter(|thread| !self.threads.contains_key(&thread.tid)).collect();
        fresh.sort_by_key(|thread| (std::cmp::Reverse(thread.load), thread.tid));
        let all_opened = fresh.into_iter().all(|thread| self.open(thread));
        if !all_opened {
            self.state.descriptors = true;
            self.others = descriptors::in_use().saturating_sub(self.descriptors());
        }
    }

    fn capacity(&self) -> usize {
        // An injected limit is for our own descriptors only, so that tests do not depend on what else is open.
        let others = if self.fixed_limit { 0 } else { self.others };
        descriptors::threads_within(self.limit, others, self.reserve, self.available.per_thread())
    }

    fn descriptors(&self) -> usize {
        self.threads.values().flat_map(|thread| &thread.groups).map(Group::descriptors).sum()
    }

    fn close_all_but(&mut self, chosen: &[Candidate]) {
        self.threads.retain(|tid, counted| {
            let place = chosen.binary_search_by_key(tid, |thread| thread.tid);
            place.is_ok_and(|place| chosen[place].start == counted.start)
        });
    }

    /// False where no descriptor is left: the rest waits for the next update.
    fn open(&mut self, thread: &Candidate) -> bool {
        let modes = self.available.modes;
        let groups = self.available.groups.iter().map(|members| Group::open(members, thread.tid, modes));
        match groups.collect::<Result<Vec<_>, _>>() {
            Ok(groups) => {
                let counted = Counted { start: thread.start, groups, last: Counters::default(), moving: true };
                self.threads.insert(thread.tid, counted);
            }
            Err(Errno::MFILE | Errno::NFILE) => return false,
            Err(Errno::ACCESS | Errno::PERM) => {
                self.forbidden.insert((thread.tid, thread.start));
            }
            // The thread has ended: ordinary.
            Err(Errno::SRCH) => {}
            Err(errno) => {
                self.state.refused += 1;
                self.state.errno = Some(errno);
            }
        }
        true
    }

    /// The counters of a thread; all `None` where it is not counted. A thread that used no tick of CPU time is read until its
    /// counters stand still: a tick is 10 ms, and what the thread did after its last one is counted too.
    pub fn read(&mut self, thread: &Candidate) -> Counters {
        let Some(counted) = self.threads.get_mut(&thread.tid) else { return Counters::default() };
        if thread.load > 0 || counted.moving {
            let mut sum = Counters::default();
            if counted.groups.iter().all(|group| group.read(&mut sum).is_ok()) {
                self.state.reads_zero |= ran_without_counting(&counted.last, &sum);
                counted.moving = sum != counted.last;
                counted.last = sum;
            }
        }
        counted.last
    }

    /// Threads that are counted now.
    #[must_use]
    pub fn counted(&self) -> usize {
        self.threads.len()
    }

    /// Why instructions read zero although they open, where they do.
    #[must_use]
    pub fn zero_reason(&self) -> Option<String> {
        self.state.reads_zero.then(|| {
            "the counter opens and reads 0 while threads run: the hypervisor does not pass this event through; enable a \
             virtual PMU on the host"
                .to_owned()
        })
    }

    /// What a person should know about who is counted.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let (wanted, counted) = (self.state.wanted, self.counted());
        let mut remarks = Vec::new();
        if self.state.descriptors {
            remarks.push(why::descriptor_limit(self.limit_in_force(), counted, wanted));
        } else if wanted > self.max_threads {
            remarks.push(format!("the busiest {counted} of {wanted} threads are counted; raise max_threads"));
        }
        if !self.forbidden.is_empty() {
            let forbidden = self.forbidden.len();
            remarks.push(format!("{forbidden} busy threads of other users may not be counted; grant CAP_PERFMON"));
        }
        if let Some(errno) = self.state.errno {
            let (refused, said) = (self.state.refused, std::io::Error::from(errno));
            remarks.push(format!("{refused} threads are not counted: perf_event_open answers `{said}`"));
        }
        if self.available.modes == Modes::User && !self.available.groups.is_empty() {
            remarks.push("events are counted in user mode only; CAP_PERFMON would add kernel mode".to_owned());
        }
        remarks
    }

    fn limit_in_force(&self) -> u64 {
        if self.fixed_limit { self.limit } else { self.limit.min(descriptors::limit()) }
    }
}

/// Ten milliseconds on the counter without one instruction: no thread does that.
fn ran_without_counting(last: &Counters, now: &Counters) -> bool {
    const LONG: u64 = 10_000_000;
    match (last.instructions, now.instructions) {
        (Some(last), Some(now)) => now.value == last.value && now.running.saturating_sub(last.running) > LONG,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::Count;

    #[test]
    fn a_counter_that_stands_still_while_it_runs_is_told() {
        let at = |value, running| Counters {
            instructions: Some(Count { value, enabled: running, running }),
            ..Counters::default()
        };
        assert!(ran_without_counting(&at(0, 0), &at(0, 20_000_000)));
        assert!(!ran_without_counting(&at(0, 0), &at(5, 20_000_000)));
        assert!(!ran_without_counting(&at(0, 0), &at(0, 5_000_000)));
        assert!(!ran_without_counting(&Counters::default(), &at(0, 20_000_000)));
    }

    #[test]
    fn work_of_less_than_a_tick_is_read_until_the_thread_sleeps() {
        let found = available(CounterSource::Software, &CpuModel::default(), &[]);
        if found.groups.is_empty() {
            return eprintln!("SKIPPED: software events do not open here");
        }
        let mut set = CounterSet::new(&SensorOptions::default(), found);
        let tid = Tid(u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap());
        let candidate = |load| Candidate { tid, start: 1, load, counted: true };
        set.update(&[candidate(1)]);
        let busy = set.read(&candidate(1)).instructions.unwrap();
        // This thread has worked since, though not for a tick.
        let after = set.read(&candidate(0)).instructions.unwrap();
        assert!(after.value > busy.value, "{busy:?} {after:?}");
    }

    #[test]
    fn the_stand_in_opens_wherever_software_events_do() {
        let found = available(CounterSource::Software, &CpuModel::default(), &[]);
        if software_opens() {
            assert_eq!(found.per_thread(), 4, "{found:?}");
            assert!(found.counts(Role::LlcMisses) && found.refused.is_empty());
        } else {
            eprintln!("SKIPPED: software events do not open here");
        }
    }
}
