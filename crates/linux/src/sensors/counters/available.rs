//! Finds the events that this machine has, by opening those of the CPU's row in the table on isobar
//! itself, once. It keeps the kernel's errors for those that do not open.

use super::events::{Event, LlcPair, Role, Row, row_for, software_row};
use super::group::{Group, Members};
use super::pmu::Pmu;
use crate::kernel::cpu_model::CpuModel;
use crate::perf::event::{Code, Modes, attributes, open};
use crate::sensors::options::CounterSource;
use isobar_model::Tid;
use perf_event_open_sys::bindings;
use rustix::io::Errno;
use std::collections::BTreeMap;

/// The events of one core PMU that are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreEvents {
    /// The PMU's name; empty if sysfs names none.
    pub pmu: String,
    /// The events.
    pub members: Members,
}

/// The events that open on this machine, and why others do not.
#[derive(Debug)]
pub struct Available {
    /// One group for each core PMU, and one for its transfers between caches; empty if nothing
    /// opens.
    pub groups: Vec<CoreEvents>,
    /// The modes that may be counted.
    pub modes: Modes,
    /// The kernel's errors for the events that do not open.
    pub refused: BTreeMap<Role, Errno>,
    /// Events of the table that a PMU's list in sysfs does not have, in the order of the table;
    /// none if sysfs shows no list.
    pub unlisted: BTreeMap<Role, Vec<&'static str>>,
}

/// Tries the events of the CPU's row on the calling thread. `model` says what kind the cores of a
/// PMU are: a big.LITTLE machine has several kinds. Transfers between caches are counted only on a
/// machine with `several_caches`.
#[must_use]
pub fn available(
    source: CounterSource,
    model: &dyn Fn(&Pmu) -> CpuModel,
    pmus: &[Pmu],
    several_caches: bool,
) -> Available {
    let row = |pmu: &Pmu| match source {
        CounterSource::Auto => row_for(&model(pmu)),
        CounterSource::Software => software_row(),
    };
    let nameless = [Pmu::nameless()];
    let pmus = if pmus.is_empty() || source == CounterSource::Software { &nameless[..] } else { pmus };
    let (refused, unlisted) = (BTreeMap::new(), BTreeMap::new());
    let mut found = Available { groups: Vec::new(), modes: Modes::All, refused, unlisted };
    for (pmu, row) in pmus.iter().map(|pmu| (pmu, row(pmu))) {
        let members = fitting(found.try_row(row, pmu), found.modes);
        let misses = members.iter().any(|(role, _)| *role == Role::LlcMisses);
        let transfers = row.transfers.filter(|_| misses && several_caches);
        let transfers = transfers.and_then(|event| found.try_event(Role::CacheTransfers, event, pmu));
        // A group of their own: if another user of the PMU leaves too few counters for five events,
        // the kernel still finds a place for the other four.
        let transfers = transfers.map(|code| (Role::CacheTransfers, code)).into_iter().collect();
        let some = [members, transfers].into_iter().filter(|members: &Members| !members.is_empty());
        found.groups.extend(some.map(|members| CoreEvents { pmu: pmu.name.clone(), members }));
    }
    found
}

/// Drops references, then cycles, if the CPU has too few counters for the whole group at once
/// (`EINVAL`): a group that does not fit would never be counted.
fn fitting(mut members: Members, modes: Modes) -> Members {
    for expendable in [Role::LlcReferences, Role::Cycles] {
        if Group::open(&members, Tid(0), modes).err() == Some(Errno::INVAL) {
            members.retain(|(role, _)| *role != expendable);
        }
    }
    members
}

impl Available {
    fn try_row(&mut self, row: &Row, pmu: &Pmu) -> Members {
        let mut members = Members::new();
        for (role, event) in [(Role::Instructions, row.instructions), (Role::Cycles, row.cycles)] {
            members.extend(self.try_event(role, event, pmu).map(|code| (role, code)));
        }
        members.extend(row.llc.iter().find_map(|pair| self.try_pair(pair, pmu)).into_iter().flatten());
        members
    }

    /// Tries a pair. References are useless without misses, but misses are useful without
    /// references.
    fn try_pair(&mut self, pair: &LlcPair, pmu: &Pmu) -> Option<Members> {
        let misses = self.try_event(Role::LlcMisses, pair.misses, pmu)?;
        let references = self.try_event(Role::LlcReferences, pair.references, pmu);
        let references = references.map(|code| (Role::LlcReferences, code));
        Some(references.into_iter().chain([(Role::LlcMisses, misses)]).collect())
    }

    /// Tries an event. If kernel mode is forbidden, user mode alone is tried, and its answer is the
    /// one that counts: the kernel checks the permission before it looks for the event.
    fn try_event(&mut self, role: Role, event: Event, pmu: &Pmu) -> Option<Code> {
        let Some(code) = pmu.code(event) else {
            if pmu.lists_events() {
                let unlisted = self.unlisted.entry(role).or_default();
                unlisted.extend(event.name().filter(|name| !unlisted.contains(name)));
            }
            return None;
        };
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
        Some(if role == Role::Instructions { of_the_program(code) } else { code })
    }

    /// Number of descriptors that one thread needs.
    #[must_use]
    pub fn per_thread(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }

    /// Whether a role is counted.
    #[must_use]
    pub fn counts(&self, role: Role) -> bool {
        self.groups.iter().flat_map(|group| &group.members).any(|(counted, _)| *counted == role)
    }
}

/// The same event, of the program alone, on PMUs that can tell it from the kernel. What the kernel
/// executes is no measure of a program's speed: while it migrates pages in a program's context, or
/// polls for one that waits, instructions pass fast and the program stands still.
fn of_the_program(code: Code) -> Code {
    let own = Code { user_only: true, ..code };
    if code.kind != bindings::PERF_TYPE_SOFTWARE && opens(own, Modes::All).is_ok() { own } else { code }
}

/// Whether an event opens on the calling thread.
pub(super) fn opens(code: Code, modes: Modes) -> Result<(), Errno> {
    open(&mut attributes(code, modes), Tid(0), None).map(drop)
}

/// Whether software events open: the difference between "no PMU" and "no perf".
#[must_use]
pub fn software_opens() -> bool {
    let config = [u64::from(bindings::PERF_COUNT_SW_TASK_CLOCK), 0, 0];
    opens(Code::new(bindings::PERF_TYPE_SOFTWARE, config), Modes::User).is_ok()
}
