//! The interface of static slowdown models: how much does each program of a workload slow down
//! under a solution? There are two levels. Any model answers for whole groups ([`StaticModel`]). A
//! *separable* model ([`Separable`]) is also split into the behaviour of each cluster by itself and
//! one coupling by bandwidth ([`Pressure`]), which makes exact search fast.

use crate::solution::Group;
use isobar_model::profile::Profile;

/// A model's result for one program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Slowdown from all causes: completion time when sharing divided by completion time alone.
    pub slowdown: f64,
    /// Slowdown from its share of the cache alone.
    pub slowdown_without_bandwidth: f64,
}

/// A solution for which the model's formula has no meaning (PBBCache's `simple` factor: its
/// denominator reaches zero).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {model} model cannot be used here: {why}")]
pub struct Meaningless {
    /// The model.
    pub model: &'static str,
    /// The cause, naming the program.
    pub why: String,
}

/// A static model of one workload on one kind of LLC.
pub trait StaticModel: Sync {
    /// The name that `--model` takes.
    fn name(&self) -> &'static str;

    /// The workload: programs by position.
    fn programs(&self) -> &[Profile];

    /// Ways of every group's LLC.
    fn ways(&self) -> usize;

    /// Whether all groups share one memory controller (UMA). If not, nothing in a group depends on
    /// another group, and a group may be evaluated by itself.
    fn shared_controller(&self) -> bool;

    /// The effect on every program in `groups`, in the order in which the programs are listed
    /// (groups, clusters, programs). `groups` is the whole solution if the controller is shared,
    /// otherwise any part of it.
    ///
    /// # Errors
    /// [`Meaningless`].
    fn effects(&self, groups: &[Group]) -> Result<Vec<Effect>, Meaningless>;

    /// A lower bound, above 0, on the slowdown of `program` in any cluster of at most `ways` ways,
    /// whatever else runs.
    fn least_slowdown(&self, program: usize, ways: usize) -> f64;

    /// The model as a separable one, if it is separable.
    fn separable(&self) -> Option<&dyn Separable> {
        None
    }

    /// The model as a queued one, if it is queued.
    fn queued(&self) -> Option<&dyn Queued> {
        None
    }
}

/// A program's demand on memory, given its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// Slowdown from its share of the cache.
    pub slowdown: f64,
    /// Bandwidth that it would take if there were no limit, in MB/s.
    pub bandwidth: f64,
    /// Fraction of its cycles stalled.
    pub stalls: f64,
    /// Fraction of its cycles stalled on memory; at most `stalls`.
    pub memory_stalls: f64,
}

/// A model in which a cluster's programs affect each other through the cache, and all other
/// programs only through bandwidth.
pub trait Separable: Sync {
    /// Demands of the programs of one cluster, for every size from 1 to `ways`: `result[k - 1][i]`.
    fn demands(&self, programs: &[usize], ways: usize) -> Vec<Vec<Demand>>;

    /// Writes the factor by which bandwidth lengthens each program's time, for all programs that
    /// share one controller; `factors` is as long as `demands`. Returns the first program (by
    /// position in `demands`) for which the formula has no meaning.
    ///
    /// # Errors
    /// The position.
    fn factors(&self, demands: &[Demand], factors: &mut [f64]) -> Result<(), usize>;

    /// How the factors come about, as one figure that all programs of a controller feel; `None` if
    /// bandwidth has no limit, so that all factors are 1.
    fn pressure(&self) -> Option<&dyn Pressure>;
}

/// Bandwidth as one figure, the *pressure*. It is at least 0 and grows with the total demand of all
/// programs of a controller. Bounds can be built on it: whether the pressure reaches a given value
/// is a question about a plain sum over the programs, and a program's factor never falls as the
/// pressure grows.
///
/// ```text
/// pressure >= p  <=>  sum over programs of load(d, p) >= capacity(p)        for every p above 0
/// pressure <= p  <=>  sum over programs of load(d, p) <= capacity(p)   for every p of at least 0
/// factors[i]      =   factor(d_i, pressure)                                 up to rounding
/// ```
pub trait Pressure: Sync {
    /// The load that a program adds to the controller, as seen from pressure `p`.
    fn load(&self, demand: &Demand, p: f64) -> f64;

    /// The load from which on the pressure is at least `p`.
    fn capacity(&self, p: f64) -> f64;

    /// The factor by which pressure `p` lengthens the program's time; `None` if it has no meaning.
    fn factor(&self, demand: &Demand, p: f64) -> Option<f64>;

    /// A pressure that is never exceeded when the formula has a meaning; infinite if none is known.
    fn most(&self) -> f64;
}

/// How a program runs while the controller makes it wait for a given time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waiting {
    /// Slowdown from all causes.
    pub slowdown: f64,
    /// Bytes per second that it moves through the controller.
    pub load: f64,
}

/// A model in which a cluster's programs depend on all others only through the wait at their
/// controller: for a given wait, a cluster can be computed by itself. Unlike in a [`Separable`]
/// model, the result with the wait is not the result without it times a factor. As the wait grows,
/// no slowdown falls and no cluster's load grows:
///
/// ```text
/// wait >= w  <=>  sum of all loads at w >= carried(w)        for every w above 0
/// effects    =    slowdowns at the wait, to a part of accuracy()
/// ```
pub trait Queued: Sync {
    /// The programs of a cluster of this number of ways, in order, while each transfer waits `wait`
    /// seconds. `None` if there is no answer.
    fn waiting(&self, programs: &[usize], ways: usize, wait: f64) -> Option<Vec<Waiting>>;

    /// Bytes per second that the controller carries when a transfer waits `wait` seconds.
    fn carried(&self, wait: f64) -> f64;

    /// A wait that no solution exceeds.
    fn longest(&self) -> f64;

    /// The relative accuracy of slowdowns and loads.
    fn accuracy(&self) -> f64;
}
