//! The quantities that balancing computes with: programs as loads, groups as sides, thresholds, and
//! the test whether two sides are uneven (algorithm 3). This is arithmetic only; [`super::balance`]
//! decides which threads move where.

use isobar_model::{CacheClass, num};

/// The LLC load of a light-sharing program, in ways (section V.B).
pub const LIGHT_WAYS: f64 = 1.0;
/// The LLC load of a streaming program: the ways of the partition that confines it (section V.B,
/// `ways_str`).
const STREAMING_WAYS: f64 = 2.0;

/// The LLC load of a program: its critical point, if it is sensitive.
#[must_use]
pub fn llc_load(class: CacheClass, critical_ways: usize) -> f64 {
    match class {
        CacheClass::LightSharing => LIGHT_WAYS,
        CacheClass::Streaming => STREAMING_WAYS,
        CacheClass::Sensitive => num::float_len(critical_ways),
    }
}

/// A program on a pair of groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Program {
    /// Its class.
    pub class: CacheClass,
    /// Number of its threads on each side now.
    pub threads: [usize; 2],
    /// Memory bandwidth of all these threads, in the same unit as the limits.
    pub bandwidth: f64,
    /// Ways that it needs; a program on both sides needs that number of ways on each.
    pub llc: f64,
    /// Whether it stays where it is, because it moved recently or its user bound it.
    pub fixed: bool,
}

impl Program {
    /// Number of its threads on both sides together.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.threads[0] + self.threads[1]
    }
}

/// One of the two groups that are balanced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side {
    /// CPUs for the threads of the programs.
    pub slots: usize,
    /// Bandwidth that this group's memory node delivers to other groups.
    pub other_bandwidth: f64,
}

/// Thresholds, in ways and in the unit of the bandwidth loads, relative to the side with more of
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Ways of an LLC.
    pub ways: f64,
    /// The weight of a way and of a unit of bandwidth on each side: 1 if both sides have the same
    /// amount. On a side that has half as much the weight is 2, because each way or unit is twice
    /// as large a part of it.
    pub weight: [Pressure; 2],
    /// `llc_load_thr`: a gap of more ways than this is an imbalance.
    pub llc_gap: f64,
    /// `low_bw_thr`: up to this value bandwidth is not a concern.
    pub low_bandwidth: f64,
    /// `bw_load_thr`: a larger gap is an imbalance.
    pub bandwidth_gap: f64,
    /// A smaller gap counts as none: two measured rates are never equal.
    pub bandwidth_tie: f64,
    /// Whether both groups use one memory node: then bandwidth cannot be balanced between them.
    pub shared_memory: bool,
    /// If a balancing still leaves an imbalance, the amount, in thresholds, by which it must reduce
    /// the imbalance to be worth its migrations; 0: any reduction will do.
    pub least_gain: f64,
}

/// The resources that a group has for its programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Ways of its LLC.
    pub ways: usize,
    /// Bandwidth of its memory node.
    pub bandwidth: f64,
}

/// Thresholds as percentages of a machine's resources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Per cent of the LLC's ways, rounded to whole ways (section VI-A: 5 of 11, "roughly 45 %").
    pub llc_gap_percent: f64,
    /// Per cent of a node's maximum bandwidth (section VI-A: 15).
    pub low_bandwidth_percent: f64,
    /// Per cent of a node's maximum bandwidth (section VI-A: 35).
    pub bandwidth_gap_percent: f64,
    /// Per cent of a node's maximum bandwidth below which two rates count as equal (ours).
    pub bandwidth_tie_percent: f64,
    /// [`Limits::least_gain`], in per cent of a threshold (ours).
    pub least_gain_percent: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            llc_gap_percent: 45.0,
            low_bandwidth_percent: 15.0,
            bandwidth_gap_percent: 35.0,
            bandwidth_tie_percent: 2.0,
            least_gain_percent: 25.0,
        }
    }
}

impl Settings {
    /// The thresholds for two LLCs of `ways` ways and two memory nodes of `max_bandwidth`.
    #[must_use]
    pub fn limits(&self, ways: usize, max_bandwidth: f64) -> Limits {
        let of_node = |percent: f64| percent / 100.0 * max_bandwidth;
        let ways = num::float_len(ways);
        Limits {
            ways,
            weight: [Pressure { llc: 1.0, bandwidth: 1.0 }; 2],
            llc_gap: (self.llc_gap_percent / 100.0 * ways).round(),
            low_bandwidth: of_node(self.low_bandwidth_percent),
            bandwidth_gap: of_node(self.bandwidth_gap_percent),
            bandwidth_tie: of_node(self.bandwidth_tie_percent),
            shared_memory: false,
            least_gain: self.least_gain_percent / 100.0,
        }
    }

    /// The thresholds for two groups that may be unequal. Loads are compared as parts of what each
    /// group has, so that both are loaded in proportion to their size.
    #[must_use]
    pub fn limits_of(&self, sides: [Capacity; 2]) -> Limits {
        let ways = sides[0].ways.max(sides[1].ways);
        let bandwidth = sides[0].bandwidth.max(sides[1].bandwidth);
        let times = |most: f64, own: f64| if own > 0.0 { most / own } else { 1.0 };
        let weight = sides.map(|side| Pressure {
            llc: times(num::float_len(ways), num::float_len(side.ways)),
            bandwidth: times(bandwidth, side.bandwidth),
        });
        Limits { weight, ..self.limits(ways, bandwidth) }
    }
}

impl Limits {
    /// Loads of both sides, converted to the scale of the side that has more.
    pub(super) fn weigh(&self, sides: &[Pressure; 2]) -> [Pressure; 2] {
        [0, 1].map(|side| Pressure {
            llc: sides[side].llc * self.weight[side].llc,
            bandwidth: sides[side].bandwidth * self.weight[side].bandwidth,
        })
    }
}

/// The aggregated loads of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// `AG_LLC`, in ways.
    pub llc: f64,
    /// `AG_BW`, of the group's whole memory node.
    pub bandwidth: f64,
}

/// Adds a program, with the given number of its threads on each side, to the loads of both sides.
pub(super) fn bear(program: &Program, threads: [usize; 2], sides: &mut [Pressure; 2]) {
    let each = program.bandwidth / num::float_len(program.count().max(1));
    for (side, threads) in sides.iter_mut().zip(threads).filter(|(_, threads)| *threads > 0) {
        side.llc += program.llc;
        side.bandwidth += each * num::float_len(threads);
    }
}

/// The loads of both sides with the programs where they are.
pub(super) fn pressures(programs: &[Program], sides: &[Side; 2]) -> [Pressure; 2] {
    let mut sum = sides.map(|side| Pressure { llc: 0.0, bandwidth: side.other_bandwidth });
    programs.iter().for_each(|program| bear(program, program.threads, &mut sum));
    sum
}

/// The last conditions of `eligible_for_balancing` (algorithm 3, lines 5 to 15): a clear imbalance
/// of a resource that is short, either the LLC (`compare_llc_load`) or bandwidth
/// (`compare_bw_load`).
#[must_use]
pub fn uneven(sides: &[Pressure; 2], limits: &Limits) -> bool {
    let Gaps { llc, bandwidth } = gaps(sides, limits);
    let [a, b] = limits.weigh(sides);
    let plenty = a.llc <= limits.ways && b.llc <= limits.ways;
    let idle = a.bandwidth <= limits.low_bandwidth && b.bandwidth <= limits.low_bandwidth;
    (!plenty && llc > limits.llc_gap) || (!idle && bandwidth > limits.bandwidth_gap)
}

/// Whether two sides are better off after a balancing, by enough to justify moving programs.
pub(super) fn is_better(before: &[Pressure; 2], after: &[Pressure; 2], limits: &Limits) -> bool {
    let [before_gaps, after_gaps] = [before, after].map(|sides| gaps(sides, limits));
    let in_thresholds = |gaps: &Gaps| [part(gaps.llc, limits.llc_gap), part(gaps.bandwidth, limits.bandwidth_gap)];
    let [old, new] = [in_thresholds(&before_gaps), in_thresholds(&after_gaps)];
    if limits.least_gain > 0.0 && uneven(after, limits) {
        // A gap below its threshold is not an imbalance, however it changes.
        let excess = |gaps: [f64; 2]| gaps.iter().map(|gap| (gap - 1.0).max(0.0)).sum::<f64>();
        return excess(old) - excess(new) >= limits.least_gain;
    }
    let worst_first = |[a, b]: [f64; 2]| (a.max(b), a.min(b));
    worst_first(new) < worst_first(old)
}

/// The distance between two sides, by resource.
struct Gaps {
    llc: f64,
    bandwidth: f64,
}

fn gaps(sides: &[Pressure; 2], limits: &Limits) -> Gaps {
    let [a, b] = limits.weigh(sides);
    let bandwidth = if limits.shared_memory { 0.0 } else { (a.bandwidth - b.bandwidth).abs() };
    Gaps { llc: (a.llc - b.llc).abs(), bandwidth }
}

fn part(gap: f64, limit: f64) -> f64 {
    if limit > 0.0 { gap / limit } else { gap }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(loads: [(f64, f64); 2]) -> [Pressure; 2] {
        loads.map(|(llc, bandwidth)| Pressure { llc, bandwidth })
    }

    /// The paper's machine: 11 ways and 76 GB/s.
    fn skylake() -> Limits {
        Settings::default().limits(11, 76.0)
    }

    #[test]
    fn thresholds_are_those_of_the_paper_on_its_machine() {
        let limits = skylake();
        assert_eq!(limits.llc_gap, 5.0);
        assert!((limits.low_bandwidth - 11.4).abs() < 1e-9 && (limits.bandwidth_gap - 26.6).abs() < 1e-9);
        assert_eq!(Settings::default().limits(16, 1.0).llc_gap, 7.0);
    }

    #[test]
    fn algorithm_3_wants_a_resource_that_is_short_and_uneven() {
        let uneven = |loads| uneven(&sides(loads), &skylake());
        assert!(!uneven([(11.0, 0.0), (0.0, 0.0)]), "both fit their LLC, line 8");
        assert!(!uneven([(12.0, 0.0), (7.0, 0.0)]), "a gap of 5 is not more than 5, line 10");
        assert!(uneven([(13.0, 0.0), (7.0, 0.0)]));
        assert!(!uneven([(0.0, 11.4), (0.0, 0.0)]), "both low, line 12");
        assert!(!uneven([(0.0, 38.0), (0.0, 11.5)]), "a gap of 26.5, line 15");
        assert!(uneven([(0.0, 38.2), (0.0, 11.5)]));
        let shared = Limits { shared_memory: true, ..skylake() };
        assert!(!super::uneven(&sides([(0.0, 70.0), (0.0, 0.0)]), &shared));
    }

    #[test]
    fn loads_are_parts_of_what_each_side_has() {
        // 16 ways and 40 GB/s on one side, 8 ways and 20 GB/s on the other.
        let sides_of = |ways, bandwidth| Capacity { ways, bandwidth };
        let limits = Settings::default().limits_of([sides_of(16, 40.0), sides_of(8, 20.0)]);
        assert_eq!((limits.ways, limits.llc_gap), (16.0, 7.0));
        let uneven = |loads| uneven(&sides(loads), &limits);
        assert!(!uneven([(20.0, 0.0), (10.0, 0.0)]), "1.25 of each");
        assert!(uneven([(20.0, 0.0), (4.0, 0.0)]), "20 and 8 of 16: a gap of 12");
        assert!(uneven([(12.0, 0.0), (12.0, 0.0)]), "12 and 24 of 16");
        assert!(!uneven([(0.0, 24.0), (0.0, 12.0)]), "60 % of each");
        assert!(uneven([(0.0, 12.0), (0.0, 14.0)]), "30 and 70 %");
        assert_eq!(Settings::default().limits_of([sides_of(11, 76.0); 2]), skylake());
    }

    #[test]
    fn a_program_on_both_sides_needs_its_ways_on_both_and_splits_its_bandwidth() {
        let program = Program { class: CacheClass::Sensitive, threads: [3, 1], bandwidth: 8.0, llc: 4.0, fixed: false };
        let side = Side { slots: 4, other_bandwidth: 1.0 };
        assert_eq!(pressures(&[program], &[side, side]), sides([(4.0, 7.0), (4.0, 3.0)]));
    }

    #[test]
    fn llc_loads_by_class() {
        let loads = [CacheClass::LightSharing, CacheClass::Streaming, CacheClass::Sensitive].map(|c| llc_load(c, 6));
        assert_eq!(loads, [1.0, 2.0, 6.0]);
    }
}
