//! The rows of the table: programs, threads, or processes combined by name or by service; sorted
//! and filtered.

use isobar_model::text::plain;
use isobar_view::{ProgramView, ThreadView, View, group};

/// The kind of rows that a table has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// One row per process.
    #[default]
    Programs,
    /// One row per thread.
    Threads,
    /// One row per name.
    Names,
    /// One row per service, container, pod or virtual machine; other programs by name.
    Groups,
}

/// Identifies a row over time: pid and tid; for a group, its lowest pid.
pub type Id = (u32, u32);

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'v> {
    /// Its program, or that of its thread.
    pub program: &'v ProgramView,
    /// Its thread.
    pub thread: Option<&'v ThreadView>,
}

impl Kind {
    /// The next kind.
    pub const fn next(self) -> Self {
        match self {
            Self::Programs => Self::Threads,
            Self::Threads => Self::Names,
            Self::Names => Self::Groups,
            Self::Groups => Self::Programs,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Programs => "programs",
            Self::Threads => "threads",
            Self::Names => "by name",
            Self::Groups => "by group",
        }
    }

    /// The processes of a view, combined as this kind of rows shows them.
    pub fn together(self, view: &View) -> Vec<ProgramView> {
        match self {
            Self::Names => group::by_name(view),
            Self::Groups => group::by_group(view),
            Self::Programs | Self::Threads => Vec::new(),
        }
    }

    /// The rows of a view.
    pub fn rows<'v>(self, view: &'v View, groups: &'v [ProgramView]) -> Vec<Row<'v>> {
        let whole = |program: &'v ProgramView| Row { program, thread: None };
        match self {
            Self::Programs => view.programs.iter().map(whole).collect(),
            Self::Names | Self::Groups => groups.iter().map(whole).collect(),
            Self::Threads => {
                let threads = |program: &'v ProgramView| {
                    program.threads.iter().map(move |thread| Row { program, thread: Some(thread) })
                };
                view.programs.iter().flat_map(threads).collect()
            }
        }
    }
}

impl Row<'_> {
    /// Its id.
    pub fn id(&self) -> Id {
        (self.program.pid.0, self.thread.map_or(0, |thread| thread.tid.0))
    }

    /// Whether a text is a part of its name, or the beginning of its number.
    pub fn fits(&self, filter: &str) -> bool {
        if filter.is_empty() {
            return true;
        }
        let (wanted, name) = (filter.to_lowercase(), plain(&self.program.name).to_lowercase());
        let number = |number: u32| number.to_string().starts_with(&wanted);
        let group = self.program.group.as_deref().map(|group| plain(group).to_lowercase());
        let named = name.contains(&wanted) || group.is_some_and(|group| group.contains(&wanted));
        named || number(self.program.pid.0) || self.thread.is_some_and(|thread| number(thread.tid.0))
    }

    /// Number of CPUs that it fills.
    pub fn cpus(&self) -> Option<f64> {
        self.thread.map_or(self.program.cpus, |thread| thread.cpus)
    }

    /// Misses per 1000 instructions.
    pub fn mpki(&self) -> Option<f64> {
        self.thread.map_or(self.program.mpki, |thread| thread.mpki)
    }

    /// Bytes per second.
    pub fn bandwidth(&self) -> Option<f64> {
        self.thread.map_or(self.program.bandwidth, |thread| thread.bandwidth)
    }
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The most slowed-down first; by CPU time if slowdowns are not known.
    #[default]
    Slowdown,
    /// CPU time.
    Cpu,
    /// Misses.
    Mpki,
    /// Bandwidth.
    Bandwidth,
    /// The fraction of the pages that is remote.
    Remote,
    /// How much it slows others down.
    Harms,
    /// The last decision about it.
    Action,
    /// Number.
    Pid,
    /// Name.
    Name,
}

const SORTS: [Sort; 9] = [
    Sort::Slowdown,
    Sort::Cpu,
    Sort::Mpki,
    Sort::Bandwidth,
    Sort::Remote,
    Sort::Harms,
    Sort::Action,
    Sort::Pid,
    Sort::Name,
];

impl Sort {
    /// The next in turn.
    pub fn next(self) -> Self {
        self.other(1)
    }

    /// The previous one.
    pub fn before(self) -> Self {
        self.other(SORTS.len() - 1)
    }

    fn other(self, by: usize) -> Self {
        let at = SORTS.iter().position(|sort| *sort == self).unwrap_or(0);
        SORTS[(at + by) % SORTS.len()]
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slowdown => "slowdown",
            Self::Cpu => "CPU",
            Self::Mpki => "MPKI",
            Self::Bandwidth => "bandwidth",
            Self::Remote => "remote pages",
            Self::Harms => "harm to others",
            Self::Action => "last action",
            Self::Pid => "pid",
            Self::Name => "name",
        }
    }

    /// Sorts the rows. Unknown figures come last; ties are in the order of CPU time, then of
    /// numbers.
    pub fn sort(self, rows: &mut [Row<'_>]) {
        if self == Self::Name {
            rows.sort_by(|a, b| a.program.name.cmp(&b.program.name).then(a.id().cmp(&b.id())));
            return;
        }
        let cpus = |row: &Row<'_>| row.cpus().unwrap_or(-1.0);
        // Figures are rounded, because those of programs hardly change in the second digit and the
        // order should stay.
        let figure = |row: &Row<'_>| self.figure(row).map_or(-1.0, |figure| (figure * 1000.0).round());
        rows.sort_by(|a, b| {
            let by_cpus = (cpus(b) * 50.0).round().total_cmp(&(cpus(a) * 50.0).round());
            figure(b).total_cmp(&figure(a)).then(by_cpus).then(a.id().cmp(&b.id()))
        });
        if self == Self::Pid {
            rows.sort_by_key(Row::id);
        }
    }

    fn figure(self, row: &Row<'_>) -> Option<f64> {
        match self {
            Self::Slowdown => row.program.slowdown,
            Self::Cpu => row.cpus(),
            Self::Mpki => row.mpki(),
            Self::Bandwidth => row.bandwidth().map(|rate| rate / 1e9),
            Self::Remote => row.program.remote,
            Self::Harms => Some(row.program.harms.iter().map(|harm| harm.gain).sum()),
            Self::Action => row.program.last.as_ref().map(|last| last.time_seconds),
            Self::Pid | Self::Name => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::Pid;

    fn program(pid: u32, name: &str, cpus: f64, slowdown: Option<f64>) -> ProgramView {
        ProgramView { pid: Pid(pid), name: name.into(), cpus: Some(cpus), slowdown, ..ProgramView::default() }
    }

    #[test]
    fn who_suffers_most_is_first_and_what_is_not_known_last() {
        let programs = vec![
            program(1, "b", 1.0, None),
            program(2, "a", 0.5, Some(1.1)),
            program(3, "c", 2.0, None),
            program(4, "d", 0.1, Some(1.4)),
        ];
        let view = View { programs, ..View::default() };
        let order = |sort: Sort| {
            let mut rows = Kind::Programs.rows(&view, &[]);
            sort.sort(&mut rows);
            rows.iter().map(|row| row.id().0).collect::<Vec<_>>()
        };
        assert_eq!(order(Sort::Slowdown), [4, 2, 3, 1]);
        assert_eq!(order(Sort::Cpu), [3, 1, 2, 4]);
        assert_eq!((order(Sort::Pid), order(Sort::Name)), (vec![1, 2, 3, 4], vec![2, 1, 3, 4]));
        assert_eq!((Sort::Slowdown.before(), Sort::Name.next()), (Sort::Name, Sort::Slowdown));
    }

    #[test]
    fn a_filter_finds_names_and_numbers() {
        let programs = vec![program(12, "Redis", 1.0, None), program(3, "back\u{1b}up", 1.0, None)];
        let programs = programs.into_iter().map(|one| {
            let group = (one.pid.0 == 12).then(|| "unit:cache.service".to_owned());
            ProgramView { group, ..one }
        });
        let programs = programs.collect();
        let view = View { programs, ..View::default() };
        let fits = |filter: &str| {
            let rows = Kind::Programs.rows(&view, &[]);
            rows.iter().filter(|row| row.fits(filter)).map(|row| row.id().0).collect::<Vec<_>>()
        };
        assert_eq!((fits("red"), fits("12"), fits("\\u{1b}")), (vec![12], vec![12], vec![3]));
        assert_eq!(fits("CACHE.s"), [12]);
        assert_eq!((fits(""), fits("x")), (vec![12, 3], vec![]));
    }
}
