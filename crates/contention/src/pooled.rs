//! A lower bound that no placement of threads, pages and cache ways can beat: a bound on a weighted
//! sum of seconds per instruction, over everything that may be decided.
//!
//! All controllers are taken as one pool and all caches as another, links as free, and each thread
//! as near to its memory as any thread can be. Derivation, step by step:
//! `docs/design/contention-fixed-point.md`, "A bound over all placements". In short, for every
//! solution of the equations and all numbers `mu, nu >= 0` and `0 <= u < 1`
//!
//! ```text
//! sum_i weight_i tau_i >= sum_i min over x, tau of f_i(x, tau) - mu C g(u) - nu X
//! ```
//!
//! where `f_i` is the thread's own cost, less the credit that it has for waiting, plus the cost of
//! the space that it holds; `X` are the bytes of all caches. So any three numbers give a bound. The
//! search for the best three decides how tight the bound is, not whether it holds.

use crate::machine::Machine;
use crate::question::Demand;
use crate::queue::{LINE, Resource};
use isobar_model::num;

/// Number of points of the curve of misses that are considered.
const POINTS: usize = 256;
/// Number of rounds of the search for the three numbers, one after the other.
const ROUNDS: usize = 4;
/// Number of steps of the search for one of them.
const STEPS: usize = 24;
/// The inverse of the golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// Utilisations from which the search starts.
const STARTS: [f64; 4] = [0.3, 0.6, 0.8, 0.92];
/// How far from its starting value each number is searched for: as a power of e.
const REACH: f64 = 3.0;
/// The most that rounding may add to the bound, as a fraction.
const ROUNDING: f64 = 1e-9;

/// A thread that runs somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// The thread; its `share`, `reach` and `compute` are the best that it can have anywhere. Where
    /// it runs, where its pages are and which ways it has do not matter.
    pub thread: Demand,
    /// The cost of one second per instruction.
    pub weight: f64,
    /// Number of such threads.
    pub count: f64,
}

/// A lower bound on the sum of `weight * seconds per instruction` over the threads, for every
/// placement on the machine.
#[must_use]
pub fn least_cost(machine: &Machine, threads: &[Contender]) -> f64 {
    let pool = Pool::new(machine, threads);
    let mut best = pool.free();
    for start in STARTS {
        best = best.max(pool.best_from(start));
    }
    best * (1.0 - ROUNDING)
}

/// A thread in the form that the bound uses.
struct One {
    weight: f64,
    count: f64,
    /// The largest share of a CPU that it can have.
    share: f64,
    compute: f64,
    /// Seconds of a miss without a wait, and additional seconds for each second of wait.
    idle: f64,
    by_wait: f64,
    /// Bytes that pass controllers for each miss.
    bytes: f64,
    /// Bytes held, and misses per instruction: a lower bound on its misses as long as it holds at
    /// most as much as at the next point.
    curve: Vec<(f64, f64)>,
}

/// All controllers and caches as one of each.
struct Pool {
    controller: Resource,
    space: f64,
    /// The longest wait possible at any controller.
    longest: f64,
    threads: Vec<One>,
}

/// The three numbers that define a bound.
#[derive(Clone, Copy)]
struct Prices {
    /// The price of what the controllers' queues hold.
    queue: f64,
    /// The price of a byte of cache.
    space: f64,
    /// The utilisation at which the queues are linearised.
    utilisation: f64,
}

impl Pool {
    fn new(machine: &Machine, threads: &[Contender]) -> Self {
        let controllers = &machine.resources()[..machine.nodes()];
        let controller = Resource {
            capacity: controllers.iter().map(|one| one.capacity).sum(),
            queue: controllers.iter().map(|one| one.queue).fold(f64::INFINITY, f64::min),
        };
        let threads: Vec<_> = threads.iter().map(|one| One::new(machine, one)).collect();
        // What all threads together can have under way: a queue holds no more.
        let inflight: f64 = threads.iter().map(|one| one.count * one.bytes * one.share / one.by_wait).sum();
        let wait = |one: &Resource| longest_wait(*one, inflight);
        let longest = controllers.iter().map(wait).fold(0.0, f64::max);
        Self { controller, space: machine.llcs().iter().map(|llc| llc.bytes).sum(), longest, threads }
    }

    /// The bound if nothing were contended.
    fn free(&self) -> f64 {
        self.bound(Prices { queue: 0.0, space: 0.0, utilisation: 0.0 })
    }

    /// The best bound that a search from a utilisation finds.
    fn best_from(&self, utilisation: f64) -> f64 {
        let mut at = Prices { queue: self.usual_queue(), space: self.usual_space(), utilisation };
        let mut best = f64::NEG_INFINITY;
        for round in 0..ROUNDS {
            let reach = REACH / num::float_len(round + 1);
            let queue = at.queue;
            let by_queue = |step: f64| Prices { queue: queue * step.exp(), ..at };
            at = self.line(reach, &by_queue);
            let space = at.space;
            let by_space = |step: f64| Prices { space: space * step.exp(), ..at };
            at = self.line(reach, &by_space);
            let slack = 1.0 - at.utilisation;
            let by_slack = |step: f64| Prices { utilisation: 1.0 - (slack * step.exp()).min(1.0), ..at };
            at = self.line(reach / 2.0, &by_slack);
            best = best.max(self.bound(at)).max(self.bound(Prices { space: 0.0, ..at }));
        }
        best
    }

    /// The best point of a line, by golden-section search.
    fn line(&self, reach: f64, at: &dyn Fn(f64) -> Prices) -> Prices {
        let (mut low, mut high) = (-reach, reach);
        let inner = |low: f64, high: f64| (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (mut left, mut right) = inner(low, high);
        let (mut of_left, mut of_right) = (self.bound(at(left)), self.bound(at(right)));
        for _ in 0..STEPS {
            if of_left >= of_right {
                (high, right, of_right) = (right, left, of_left);
                left = inner(low, high).0;
                of_left = self.bound(at(left));
            } else {
                (low, left, of_left) = (left, right, of_right);
                right = inner(low, high).1;
                of_right = self.bound(at(right));
            }
        }
        at(if of_left >= of_right { left } else { right })
    }

    /// A price of queues at which threads take about as long as they do without one.
    fn usual_queue(&self) -> f64 {
        let of = |one: &One| {
            let (_, misses) = one.curve[one.curve.len() / 2];
            let seconds = one.compute + misses * one.idle;
            one.weight * seconds * seconds
                / (one.share * one.share * one.bytes * (seconds / one.by_wait + misses * self.controller.queue))
        };
        let threads: f64 = self.threads.iter().map(|one| one.count).sum();
        (self.threads.iter().map(|one| one.count * of(one)).sum::<f64>() / threads.max(1.0)).max(f64::MIN_POSITIVE)
    }

    /// A price of space at which the caches are worth about what all runs cost.
    fn usual_space(&self) -> f64 {
        let cost = |one: &One| one.count * one.weight * one.compute / one.share;
        0.1 * self.threads.iter().map(cost).sum::<f64>() / self.space
    }

    fn bound(&self, prices: Prices) -> f64 {
        let Prices { queue, space, utilisation } = prices;
        let slack = 1.0 - utilisation;
        // phi(u) = u W(u), its slope, and where the tangent meets 0.
        let scale = self.controller.queue;
        let phi = scale * utilisation.powi(3) / slack;
        let slope = scale * utilisation.powi(2) * (3.0 - 2.0 * utilisation) / (slack * slack);
        let gap = (slope * utilisation - phi).max(0.0);
        let threads = self.threads.iter().map(|one| one.count * one.least(self.longest, queue, slope, space));
        threads.sum::<f64>() - queue * self.controller.capacity * gap - space * self.space
    }
}

/// The longest wait of a line at a controller while at most this number of bytes is under way.
fn longest_wait(controller: Resource, inflight: f64) -> f64 {
    // C u W(u) <= inflight, and u W(u) grows with u: found by halving.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let slack = 0.5 * (low + high);
        let held = controller.capacity * (1.0 - slack) * controller.wait_at_slack(slack);
        if held <= inflight { high = slack } else { low = slack }
    }
    // The lower end is taken, so that the wait is not too short.
    controller.wait_at_slack(low.max(f64::MIN_POSITIVE))
}

impl One {
    fn new(machine: &Machine, contender: &Contender) -> Self {
        let Contender { thread, weight, count } = contender;
        let cache = machine.llcs().iter().map(|llc| llc.bytes).fold(0.0, f64::max);
        let private = machine.llcs().iter().map(|llc| llc.private).fold(0.0, f64::max);
        let idle = machine.latency().iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let most = thread.footprint.min(cache);
        let at = |point: usize| most * num::float_len(point) / num::float_len(POINTS);
        let misses = |space: f64| thread.factor * thread.curve.misses(private + space * thread.reach);
        let mut curve: Vec<_> = (0..POINTS).map(|point| (at(point), misses(at(point + 1)))).collect();
        curve.push((most, misses(most)));
        Self {
            weight: *weight,
            count: *count,
            share: thread.share,
            compute: thread.compute,
            idle: idle / thread.mlp,
            by_wait: 1.0 / thread.mlp,
            bytes: LINE * (1.0 + thread.prefetch) * (1.0 + thread.write_back),
            curve,
        }
    }

    /// The minimum of its own cost plus what it pays for space, less its credit for waiting.
    fn least(&self, longest: f64, queue: f64, slope: f64, space: f64) -> f64 {
        let at = |(held, misses): &(f64, f64)| space * held + self.at(*misses, longest, queue, slope);
        self.curve.iter().map(at).fold(f64::INFINITY, f64::min)
    }

    /// The minimum over all paces at this number of misses per instruction.
    fn at(&self, misses: f64, longest: f64, queue: f64, slope: f64) -> f64 {
        let unhindered = self.compute + misses * self.idle;
        let first = unhindered / self.share;
        let last = (unhindered + misses * self.by_wait * longest) / self.share;
        let priced = queue * self.bytes;
        // Up to `last` the wait is what the pace leaves; beyond it, the wait is the longest one.
        let (constant, inverse) =
            (-priced * self.share / self.by_wait, priced * (unhindered / self.by_wait + slope * misses));
        let within = constant + least_of(self.weight, inverse, first, last);
        let beyond = least_of(self.weight, priced * misses * (slope - longest), last, f64::INFINITY);
        within.min(beyond)
    }
}

/// The minimum of `weight t + inverse / t` for `t` in an interval.
fn least_of(weight: f64, inverse: f64, low: f64, high: f64) -> f64 {
    let t = if inverse > 0.0 { (inverse / weight).sqrt().clamp(low, high) } else { low };
    if t > 0.0 { weight * t + inverse / t } else { 0.0 }
}
