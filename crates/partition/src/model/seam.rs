//! Static slowdown models: how much does each program of a workload slow down under a solution? Two
//! seams. Any model answers for whole groups ([`StaticModel`]); a *separable* one ([`Separable`])
//! also splits into what a cluster does by itself and one coupling by bandwidth ([`Pressure`]),
//! which is what makes exact search fast.

use crate::solution::Group;
use isobar_model::profile::Profile;

/// What a model says of one program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Slowdown by everything; completion time shared over alone.
    pub slowdown: f64,
    /// Slowdown by its share of the cache alone.
    pub slowdown_without_bandwidth: f64,
}

/// A solution for which the model's formula has no meaning (PBBCache's `simple` factor: its
/// denominator reaches zero).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {model} model has no meaning here: {why}")]
pub struct Meaningless {
    /// The model.
    pub model: &'static str,
    /// What went wrong, naming the program.
    pub why: String,
}

/// A static model of one workload on one kind of LLC.
pub trait StaticModel: Sync {
    /// Its name, as `--model` takes it.
    fn name(&self) -> &'static str;

    /// The workload: programs by position.
    fn programs(&self) -> &[Profile];

    /// Ways of every group's LLC.
    fn ways(&self) -> usize;

    /// Whether all groups share one memory controller (UMA). Where not, nothing in a group depends
    /// on another one, and a group may be evaluated by itself.
    fn shared_controller(&self) -> bool;

    /// The effect on every program in `groups`, in the order in which they stand there (groups,
    /// clusters, programs). `groups` is the whole solution where the controller is shared; else any
    /// part of it.
    ///
    /// # Errors
    /// [`Meaningless`].
    fn effects(&self, groups: &[Group]) -> Result<Vec<Effect>, Meaningless>;

    /// A slowdown below which `program` cannot come in any cluster of at most `ways` ways, whatever
    /// else runs. For bounds; above 0.
    fn least_slowdown(&self, program: usize, ways: usize) -> f64;

    /// The model as a separable one, where it is.
    fn separable(&self) -> Option<&dyn Separable> {
        None
    }

    /// The model as one of a queue, where it is.
    fn queued(&self) -> Option<&dyn Queued> {
        None
    }
}

/// What a program asks of memory, given its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// Slowdown by its share of the cache.
    pub slowdown: f64,
    /// Bandwidth that it would take, in MB/s.
    pub bandwidth: f64,
    /// Part of its cycles stalled.
    pub stalls: f64,
    /// Part of its cycles stalled on memory; at most `stalls`.
    pub memory_stalls: f64,
}

/// A model in which a cluster's programs depend on each other through the cache, and on all others
/// through bandwidth only.
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

    /// How the factors come about, as one figure that all programs of a controller feel; `None`
    /// where bandwidth has no limit, so that all factors are 1.
    fn pressure(&self) -> Option<&dyn Pressure>;
}

/// Bandwidth as one figure, the *pressure*, of at least 0, which grows with what all programs of a
/// controller ask for together. This is what bounds can be built on: whether the pressure reaches a
/// given one is a question about a plain sum over the programs, and a program's factor never falls
/// while the pressure grows.
///
/// ```text
/// pressure >= p  <=>  sum over programs of load(d, p) >= capacity(p)        for every p above 0
/// pressure <= p  <=>  sum over programs of load(d, p) <= capacity(p)   for every p of at least 0
/// factors[i]      =   factor(d_i, pressure)                                 up to rounding
/// ```
pub trait Pressure: Sync {
    /// What a program adds to the controller's load as seen from pressure `p`.
    fn load(&self, demand: &Demand, p: f64) -> f64;

    /// The load from which on the pressure is at least `p`.
    fn capacity(&self, p: f64) -> f64;

    /// By how much pressure `p` lengthens the program's time; `None` where it has no meaning.
    fn factor(&self, demand: &Demand, p: f64) -> Option<f64>;

    /// A pressure that is never exceeded where the formula has a meaning; infinite where none is
    /// known.
    fn most(&self) -> f64;
}

/// What a program does while the controller makes it wait for a given time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waiting {
    /// Slowdown by everything.
    pub slowdown: f64,
    /// Bytes a second that pass the controller.
    pub load: f64,
}

/// A model in which a cluster's programs depend on all others through the wait at their controller
/// only: given the wait, a cluster is on its own. Unlike in a [`Separable`] one, what it does then
/// is no factor on what it would do without. While the wait grows no slowdown falls, and no
/// cluster's load grows:
///
/// ```text
/// wait >= w  <=>  sum of all loads at w >= carried(w)        for every w above 0
/// effects    =    slowdowns at the wait, to a part of accuracy()
/// ```
pub trait Queued: Sync {
    /// The programs of a cluster of this number of ways, while each transfer waits `wait` seconds;
    /// in their order. `None` where there is no answer.
    fn waiting(&self, programs: &[usize], ways: usize, wait: f64) -> Option<Vec<Waiting>>;

    /// Bytes a second that the controller carries when a transfer waits so long.
    fn carried(&self, wait: f64) -> f64;

    /// A wait that no solution exceeds.
    fn longest(&self) -> f64;

    /// The relative accuracy of slowdowns and loads.
    fn accuracy(&self) -> f64;
}
