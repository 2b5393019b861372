//! `pbbcache-simple` and `pbbcache-stalls`: the static model of the simulator that Divide&Content's
//! authors extended, written from its formulas (docs/design/cache-ways.md), so that both tools can
//! run on the same inputs.
//!
//! ```text
//! M: the controller's bandwidth; B_i: what program i would take
//! slowdown_i = slowdown(effective ways) * factor_i
//! simple:  sum B > M:  factor_i = 1 / (1 - B_i (sum B - M) / sum B^2), else 1
//! stalls:  b_i = B_i / M;  sum u_i = U;
//!          u_i = (-(1-U) + sqrt((1-U)^2 + 4 (1-U) b_i / (1 - b_i))) / 2
//!          factor_i = (st_i + m_i (b_i / u_i - 1)) / st_i,
//!          m_i = min(st_i, l3_miss_i + store_buf_i)
//! ```
//!
//! **When the simple factor has no meaning.** Its denominator is 0 or less as soon as
//! `B_i (sum B - M) >= sum B^2`, that is, when one program takes much more than the others and the
//! controller is overcommitted. The slowdown would be infinite or negative. Such a solution is
//! [`Meaningless`], never a number. `stalls` has no meaning if one program alone would take the
//! whole bandwidth (`b_i >= 1`).

use super::seam::{Demand, Effect, Meaningless, Pressure, Separable, StaticModel};
use crate::share::shares;
use crate::solution::Group;
use isobar_model::profile::{self, Profile, Property};

/// How bandwidth slows programs down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bandwidth {
    /// By the excess over the controller's bandwidth; programs that take more are slowed down more.
    Simple,
    /// By queueing, on the stalled part of the cycles only.
    Stalls,
}

/// Number of halvings of the interval in the search for total utilisation: enough for the last bit.
const HALVINGS: u32 = 100;

/// PBBCache's model of one workload.
#[derive(Clone, Debug)]
pub struct PbbCache {
    bandwidth: Bandwidth,
    programs: Vec<Profile>,
    ways: usize,
    max_bandwidth: Option<f64>,
    shared_controller: bool,
    misses: Property,
}

impl PbbCache {
    /// The model of a workload on LLCs of `ways` ways. `max_bandwidth` is in MB/s, per group, or
    /// for all groups together if they share the controller; `None` = no limit, all factors 1.
    #[must_use]
    pub fn new(bandwidth: Bandwidth, programs: Vec<Profile>, ways: usize, max_bandwidth: Option<f64>) -> Self {
        Self { bandwidth, programs, ways, max_bandwidth, shared_controller: false, misses: Property::Llcmpkc }
    }

    /// The same model with one controller for all groups (UMA).
    #[must_use]
    pub fn uma(self, shared_controller: bool) -> Self {
        Self { shared_controller, ..self }
    }

    /// The same model with shared ways split by another property than LLCMPKC (PBBCache's
    /// `whirlpool` takes MPKI).
    #[must_use]
    pub fn shared_by(self, misses: Property) -> Self {
        Self { misses, ..self }
    }

    /// The controller's bandwidth in MB/s, if limited.
    #[must_use]
    pub const fn max_bandwidth(&self) -> Option<f64> {
        self.max_bandwidth
    }

    fn limit(&self) -> f64 {
        self.max_bandwidth.unwrap_or(f64::INFINITY)
    }

    fn demand(&self, program: usize, ways: f64) -> Demand {
        let profile = &self.programs[program];
        let stalls = profile.at(Property::StallsTotal, ways);
        let memory = profile.at(Property::StallsL3Miss, ways) + profile.at(Property::StallsStoreBuffer, ways);
        Demand {
            slowdown: profile.at(Property::Slowdown, ways),
            bandwidth: profile.at(Property::Bandwidth, ways),
            stalls,
            memory_stalls: memory.min(stalls),
        }
    }

    fn cluster(&self, programs: &[usize], ways: usize) -> Vec<Vec<f64>> {
        let misses: Vec<&[f64]> = programs.iter().map(|program| self.programs[*program].column(self.misses)).collect();
        shares(&misses, ways)
    }

    fn meaningless(&self, program: &str) -> Meaningless {
        let why = match self.bandwidth {
            Bandwidth::Simple => {
                "takes so much more bandwidth than the others that its factor's denominator is not above 0"
            }
            Bandwidth::Stalls => "alone would take all of the bandwidth",
        };
        Meaningless {
            model: self.name(),
            why: format!("`{program}` {why}; raise --max-bandwidth or take --model queueing"),
        }
    }

    /// Demands of the programs of some groups in order, and which program each demand belongs to.
    fn listed(&self, groups: &[Group]) -> (Vec<usize>, Vec<Demand>) {
        let mut who = Vec::new();
        let mut demands = Vec::new();
        for cluster in groups.iter().flatten() {
            let shares = self.cluster(&cluster.programs, cluster.ways);
            let last = shares.last().map_or(&[][..], Vec::as_slice);
            who.extend(&cluster.programs);
            demands.extend(cluster.programs.iter().zip(last).map(|(program, ways)| self.demand(*program, *ways)));
        }
        (who, demands)
    }

    fn coupled(&self, groups: &[Group]) -> Result<Vec<Effect>, Meaningless> {
        let (who, demands) = self.listed(groups);
        let mut factors = vec![1.0; demands.len()];
        let named = |position: usize| self.meaningless(self.programs[who[position]].name());
        self.factors(&demands, &mut factors).map_err(named)?;
        let effect = |(demand, factor): (&Demand, &f64)| Effect {
            slowdown: demand.slowdown * factor,
            slowdown_without_bandwidth: demand.slowdown,
        };
        Ok(demands.iter().zip(&factors).map(effect).collect())
    }
}

impl StaticModel for PbbCache {
    fn name(&self) -> &'static str {
        match self.bandwidth {
            Bandwidth::Simple => "pbbcache-simple",
            Bandwidth::Stalls => "pbbcache-stalls",
        }
    }

    fn programs(&self) -> &[Profile] {
        &self.programs
    }

    fn ways(&self) -> usize {
        self.ways
    }

    fn shared_controller(&self) -> bool {
        self.shared_controller
    }

    fn effects(&self, groups: &[Group]) -> Result<Vec<Effect>, Meaningless> {
        if self.shared_controller {
            return self.coupled(groups);
        }
        let by_group: Result<Vec<_>, _> =
            groups.iter().map(|group| self.coupled(std::slice::from_ref(group))).collect();
        Ok(by_group?.concat())
    }

    fn least_slowdown(&self, program: usize, ways: usize) -> f64 {
        // A part of one way may be better than one way if the curve is not monotone: the line below
        // one way ends at 0 ways.
        let column = self.programs[program].column(Property::Slowdown);
        column[..ways.clamp(1, column.len())].iter().copied().fold(profile::at(column, 0.0), f64::min)
    }

    fn separable(&self) -> Option<&dyn Separable> {
        Some(self)
    }
}

impl Separable for PbbCache {
    fn demands(&self, programs: &[usize], ways: usize) -> Vec<Vec<Demand>> {
        let sized = |shares: &Vec<f64>| {
            programs.iter().zip(shares).map(|(program, ways)| self.demand(*program, *ways)).collect()
        };
        self.cluster(programs, ways).iter().map(sized).collect()
    }

    fn factors(&self, demands: &[Demand], factors: &mut [f64]) -> Result<(), usize> {
        factors.fill(1.0);
        let Some(most) = self.max_bandwidth else { return Ok(()) };
        match self.bandwidth {
            Bandwidth::Simple => simple(demands, most, factors),
            Bandwidth::Stalls => stalls(demands, most, factors),
        }
    }

    fn pressure(&self) -> Option<&dyn Pressure> {
        self.max_bandwidth.map(|_| self as &dyn Pressure)
    }
}

/// `simple`: the pressure is `(sum B - M) / sum B^2`, at least 0; so it is at least p if the sum of
/// `B - p B^2` is at least M. `stalls`: the pressure is U. The sum of uses falls as U grows, so U
/// is at least p if the sum of uses at p is at least p.
impl Pressure for PbbCache {
    fn load(&self, demand: &Demand, p: f64) -> f64 {
        match self.bandwidth {
            Bandwidth::Simple => demand.bandwidth - p * demand.bandwidth * demand.bandwidth,
            Bandwidth::Stalls => used(demand.bandwidth / self.limit(), p),
        }
    }

    fn capacity(&self, p: f64) -> f64 {
        match self.bandwidth {
            Bandwidth::Simple => self.limit(),
            Bandwidth::Stalls => p,
        }
    }

    fn factor(&self, demand: &Demand, p: f64) -> Option<f64> {
        match self.bandwidth {
            Bandwidth::Simple => {
                let left = 1.0 - demand.bandwidth * p;
                (left > 0.0).then(|| 1.0 / left)
            }
            Bandwidth::Stalls => {
                let wanted = demand.bandwidth / self.limit();
                (wanted < 1.0 && p < 1.0).then(|| grown(demand, wanted, p))
            }
        }
    }

    fn most(&self) -> f64 {
        match self.bandwidth {
            Bandwidth::Simple => f64::INFINITY,
            Bandwidth::Stalls => 1.0,
        }
    }
}

fn simple(demands: &[Demand], most: f64, factors: &mut [f64]) -> Result<(), usize> {
    let sum: f64 = demands.iter().map(|demand| demand.bandwidth).sum();
    if sum <= most {
        return Ok(());
    }
    let squares: f64 = demands.iter().map(|demand| demand.bandwidth * demand.bandwidth).sum();
    for (position, (demand, factor)) in demands.iter().zip(factors).enumerate() {
        let left = 1.0 - demand.bandwidth * (sum - most) / squares;
        if left <= 0.0 {
            return Err(position);
        }
        *factor = 1.0 / left;
    }
    Ok(())
}

fn stalls(demands: &[Demand], most: f64, factors: &mut [f64]) -> Result<(), usize> {
    if let Some(position) = demands.iter().position(|demand| demand.bandwidth / most >= 1.0) {
        return Err(position);
    }
    let total = utilisation(&demands.iter().map(|demand| demand.bandwidth / most));
    for (demand, factor) in demands.iter().zip(factors) {
        *factor = grown(demand, demand.bandwidth / most, total);
    }
    Ok(())
}

/// The factor of a program that wants the part `b` of a controller whose total utilisation is
/// `total`.
fn grown(demand: &Demand, b: f64, total: f64) -> f64 {
    if b > 0.0 && demand.stalls > 0.0 {
        let growth = b / used(b, total);
        (demand.stalls + demand.memory_stalls * (growth - 1.0)) / demand.stalls
    } else {
        1.0
    }
}

/// The part of the controller's time that a program uses when all programs together use `total`:
/// the root of `u^2 + (1-U) u = (1-U) b / (1-b)`, in the form that does not subtract nearly equal
/// numbers when `b` is small.
fn used(wanted: f64, total: f64) -> f64 {
    let free = 1.0 - total;
    if free <= 0.0 {
        return 0.0;
    }
    let asked = free * wanted / (1.0 - wanted);
    2.0 * asked / ((free * free + 4.0 * asked).sqrt() + free)
}

/// The total utilisation U at which the sum of all uses is U. The sum falls as U grows, and at U =
/// 0 it is above U.
fn utilisation(wanted: &(impl Iterator<Item = f64> + Clone)) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        let sum: f64 = wanted.clone().map(|b| used(b, middle)).sum();
        if sum > middle { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(bandwidth: f64) -> Demand {
        Demand { slowdown: 1.0, bandwidth, stalls: 0.5, memory_stalls: 0.25 }
    }

    #[test]
    fn the_simple_factor_by_hand() {
        // 30 + 10 over 35: excess 5, squares 1000; 1 / (1 - 30 * 5 / 1000) and 1 / (1 - 10 * 5 /
        // 1000).
        let mut factors = [0.0; 2];
        simple(&[demand(30.0), demand(10.0)], 35.0, &mut factors).unwrap();
        assert!((factors[0] - 1.0 / 0.85).abs() < 1e-12 && (factors[1] - 1.0 / 0.95).abs() < 1e-12);
        // At 40, the demand does not exceed the bandwidth.
        factors.fill(1.0);
        simple(&[demand(30.0), demand(10.0)], 40.0, &mut factors).unwrap();
        assert_eq!(factors, [1.0, 1.0]);
    }

    #[test]
    fn where_the_denominator_reaches_zero_no_number_is_given() {
        // 30 * (40 - 5) = 1050 > 1000.
        assert_eq!(simple(&[demand(30.0), demand(10.0)], 5.0, &mut [1.0; 2]), Err(0));
        assert_eq!(stalls(&[demand(1.0), demand(30.0)], 30.0, &mut [1.0; 2]), Err(1));
    }

    #[test]
    fn a_part_of_one_way_may_be_the_best_of_all() {
        // IPC 2, 1, 4: slowdowns 2, 4, 1. Towards no ways: 2 + (2 - 4) = 0, limited to at least
        // 1e-6.
        let rows = [2.0, 1.0, 4.0].map(|ipc| profile::Row { ipc, ..profile::Row::default() });
        let model = PbbCache::new(Bandwidth::Simple, vec![Profile::new("a", rows.to_vec()).unwrap()], 3, None);
        assert_eq!(model.least_slowdown(0, 2), 1e-6);
    }

    #[test]
    fn pressure_is_the_factors_in_one_figure() {
        let demands = [30.0, 10.0, 4.0].map(demand);
        for kind in [Bandwidth::Simple, Bandwidth::Stalls] {
            let model = PbbCache::new(kind, Vec::new(), 1, Some(40.0));
            // Simple: (44 - 40) / 1016. Stalls: the value that the model itself finds.
            let p = match kind {
                Bandwidth::Simple => 4.0 / 1016.0,
                Bandwidth::Stalls => utilisation(&[0.75, 0.25, 0.1].into_iter()),
            };
            let load = |p: f64| demands.iter().map(|demand| model.load(demand, p)).sum::<f64>();
            assert!(load(p * 0.999) > model.capacity(p * 0.999) && load(p * 1.001) < model.capacity(p * 1.001));
            let mut factors = [1.0; 3];
            model.factors(&demands, &mut factors).unwrap();
            for (demand, factor) in demands.iter().zip(factors) {
                assert!((model.factor(demand, p).unwrap() - factor).abs() < 1e-9);
                assert!(model.factor(demand, p * 0.9).unwrap() <= factor);
            }
        }
    }

    #[test]
    fn one_program_uses_what_it_wants_where_it_is_alone() {
        // u = U and u (u + 1 - U) = (1 - U) b / (1 - b) give U = b, so the factor is 1.
        assert!((utilisation(&[0.3].into_iter()) - 0.3).abs() < 1e-9);
        let mut factors = [0.0];
        stalls(&[demand(30.0)], 100.0, &mut factors).unwrap();
        assert!((factors[0] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn only_the_stalls_on_memory_grow() {
        // Two programs of b = 0.5: 2 u = U and u^2 + (1-U) u = 1 - U, so u^2 - 3 u + 1 = 0, u = (3
        // - sqrt 5) / 2.
        let u = (3.0 - 5.0_f64.sqrt()) / 2.0;
        assert!((utilisation(&[0.5, 0.5].into_iter()) - 2.0 * u).abs() < 1e-9);
        let mut factors = [1.0; 2];
        stalls(&[demand(50.0), demand(50.0)], 100.0, &mut factors).unwrap();
        assert!((factors[0] - (0.5 + 0.25 * (0.5 / u - 1.0)) / 0.5).abs() < 1e-9);
    }
}
