//! The columns of the table, and which of them fit a width. More columns are shown as the terminal
//! grows; `c` changes which come first.

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// pid, or tid
    Pid,
    /// name
    Name,
    /// CPUs, in per cent
    Cpu,
    /// threads
    Threads,
    /// class
    Class,
    /// instructions per cycle
    Ipc,
    /// misses
    Mpki,
    /// bandwidth
    Bandwidth,
    /// nodes on which it runs
    Runs,
    /// nodes on which its pages are
    Pages,
    /// fraction of its pages that is remote
    Far,
    /// resident memory
    Memory,
    /// slowdown
    Slowdown,
    /// the part of the slowdown that other programs cause
    Contention,
    /// the part of the slowdown that remote pages cause
    Distance,
    /// which programs slow it down
    HarmedBy,
    /// which programs it slows down
    Harms,
    /// the last decision
    Last,
    /// predicted gain
    Predicted,
    /// measured gain
    Measured,
    /// why
    Why,
}

use Column::{
    Bandwidth, Class, Contention, Cpu, Distance, Far, HarmedBy, Harms, Ipc, Last, Measured, Memory, Mpki, Name, Pages,
    Pid, Predicted, Runs, Slowdown, Threads, Why,
};

/// All columns, in the order in which they are drawn.
const ORDER: [Column; 21] = [
    Pid, Name, Cpu, Threads, Class, Slowdown, Contention, Distance, HarmedBy, Harms, Ipc, Mpki, Bandwidth, Memory,
    Runs, Pages, Far, Last, Predicted, Measured, Why,
];

/// Which columns come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Which programs are slowed down, and by which.
    #[default]
    Overview,
    /// Where memory is.
    Memory,
    /// What was decided.
    Decisions,
}

impl Columns {
    /// The next in turn.
    pub const fn next(self) -> Self {
        match self {
            Self::Overview => Self::Memory,
            Self::Memory => Self::Decisions,
            Self::Decisions => Self::Overview,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Memory => "memory",
            Self::Decisions => "decisions",
        }
    }

    /// The columns, the most important first.
    const fn wanted(self) -> &'static [Column] {
        match self {
            Self::Overview => &[
                Pid, Name, Cpu, Slowdown, HarmedBy, Mpki, Runs, Pages, Ipc, Bandwidth, Far, Class, Last, Predicted,
                Measured, Harms, Threads, Memory, Why, Contention, Distance,
            ],
            Self::Memory => &[
                Pid, Name, Cpu, Memory, Runs, Pages, Far, Distance, Bandwidth, Mpki, Slowdown, Contention, Ipc, Class,
                Threads, HarmedBy, Harms, Last,
            ],
            Self::Decisions => &[Pid, Name, Slowdown, Last, Predicted, Measured, Why, Runs, Pages, Cpu, Mpki],
        }
    }

    /// The columns that fit a width, each with its own width, in the order in which they are drawn.
    /// `nodes` is the number of nodes of the machine. If nothing has been decided, the overview
    /// leaves out the columns about decisions. With `groups`, names are long.
    pub fn fitting(self, room: usize, nodes: usize, decided: bool, groups: bool) -> Vec<(Column, usize)> {
        let mut left = room;
        let mut chosen: Vec<(Column, usize)> = Vec::new();
        let empty = |column: &&Column| !decided && self == Self::Overview && column.is_of_decisions();
        for column in self.wanted().iter().filter(|column| !empty(column)) {
            let need = column.least(nodes, groups) + usize::from(!chosen.is_empty());
            if need > left {
                break;
            }
            left -= need;
            chosen.push((*column, column.least(nodes, groups)));
        }
        // Columns of text take the remaining width, first the column that the set is mainly about.
        let first = match self {
            _ if groups => Name,
            Self::Decisions => Last,
            _ => HarmedBy,
        };
        chosen.sort_by_key(|(column, _)| *column != first);
        for (column, width) in &mut chosen {
            let more = column.most(nodes, groups).saturating_sub(*width).min(left);
            *width += more;
            left -= more;
        }
        chosen.sort_by_key(|(column, _)| ORDER.iter().position(|other| other == column));
        chosen
    }
}

impl Column {
    /// Its heading.
    pub const fn title(self) -> &'static str {
        match self {
            Pid => "PID",
            Name => "NAME",
            Cpu => "CPU %",
            Threads => "THR",
            Class => "CLASS",
            Ipc => "IPC",
            Mpki => "MPKI",
            Bandwidth => "GB/s",
            Runs => "RUNS",
            Pages => "PAGES",
            Far => "FAR %",
            Memory => "MEMORY",
            Slowdown => "SLOW",
            Contention => "OTHERS",
            Distance => "DIST",
            HarmedBy => "HARMED BY",
            Harms => "HARMS",
            Last => "LAST ACTION",
            Predicted => "PRED",
            Measured => "MEAS",
            Why => "WHY",
        }
    }

    /// Whether its text is aligned left.
    pub const fn is_left(self) -> bool {
        matches!(self, Name | Class | HarmedBy | Harms | Last | Why | Pages | Runs)
    }

    const fn is_of_decisions(self) -> bool {
        matches!(self, Last | Predicted | Measured | Why)
    }

    fn least(self, nodes: usize, groups: bool) -> usize {
        match self {
            Name if groups => 22,
            Pid => 7,
            Name => 12,
            Cpu | Bandwidth | Slowdown | Mpki | Contention | Predicted | Measured => 6,
            Threads | Ipc | Distance => 5,
            Class => 9,
            Runs => {
                if nodes > 10 {
                    6
                } else {
                    4
                }
            }
            Pages => 8,
            Far => 5,
            Memory => 8,
            HarmedBy => 12,
            Harms => 16,
            Last => 20,
            Why => 40,
        }
    }

    fn most(self, nodes: usize, groups: bool) -> usize {
        match self {
            Name if groups => 30,
            Name => 20,
            HarmedBy => 36,
            Harms => 30,
            Last => 40,
            Why => 90,
            other => other.least(nodes, groups),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_and_grow() {
        let sets = [Columns::Overview, Columns::Memory, Columns::Decisions];
        for (set, groups) in sets.into_iter().flat_map(|set| [(set, false), (set, true)]) {
            let mut before = 0;
            for room in 40..400 {
                let chosen = set.fitting(room, 4, true, groups);
                let width = chosen.iter().map(|(_, width)| width + 1).sum::<usize>() - 1;
                assert!(width <= room && chosen.len() >= before, "{set:?} {room} {chosen:?}");
                assert!(chosen[0].0 == Pid && chosen[1].0 == Name);
                before = chosen.len();
            }
            let all = set.wanted();
            assert!(all.iter().all(|column| all.iter().filter(|other| *other == column).count() == 1));
            assert_eq!(before, all.len(), "a very wide terminal has all of them");
        }
        let small: Vec<Column> =
            Columns::Overview.fitting(80, 4, false, false).iter().map(|(column, _)| *column).collect();
        assert_eq!(small, [Pid, Name, Cpu, Slowdown, HarmedBy, Ipc, Mpki, Runs, Pages]);
    }
}
