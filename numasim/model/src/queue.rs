//! Memory controllers and the two directions of each link, as queues: how long a miss waits there
//! in the next window.
//!
//! **The law** is that of the contention simulator (crates/contention/src/queue.rs), so that both
//! give the same delay for the same load, unless the machine file has measured values (curve.rs): a
//! line waits `q u^2 / (1 - u)` at a resource of utilisation `u`. The wait grows without bound as
//! `u` approaches 1: the delivered rate stays below the capacity, however high the demand.
//!
//! **The window.** Within a window CPUs run one after another, so arrival times inside it have no
//! meaning: a delay is a function of the totals of earlier windows, in which all CPUs count
//! equally. Feeding the measured `u` back through the law would oscillate between idle and full,
//! because the law is steep near 1. Instead the window is *solved*. A CPU that was busy for `B` and
//! paid the delay of `n` lines would have been busy for `B + n x` if the delay had been longer by
//! `x`, and so would have moved its lines at `B / (B + n x)` of its pace. With
//!
//! ```text
//! a_ik   lines that CPU i moved over resource k in the window (fetched and written back)
//! n_ik   lines whose delay at k it paid: fetched ones, 1/depth of one that a stream covered
//! B_i    local time for which it ran, stalls included
//! s_k    time in which k carries a line;  Q  length of the window
//! w_k    delay in force;  x_k  what is added to it
//!
//! u_k(x) = s_k / Q * sum_i a_ik B_i / (B_i + sum_j n_ij x_j)
//! w_k + x_k = q_k u_k(x)^2 / (1 - u_k(x))            for all k at once
//! ```
//!
//! this is the fixed point of the contention simulator for the programs as they were in this
//! window. For each resource, the left side rises and the right side falls in `x_k`: there is one
//! root, found by bisection. A few rounds over all resources settle their interplay. The delay in
//! force then moves a fraction of the way towards the solution ([`UP`], [`DOWN`]), which averages
//! out differences between windows. It falls more slowly than it rises: load that comes in bursts
//! meets some of the delay that it left.
//!
//! **Debt.** The first windows of a new load run with delays that are too short, and carry more
//! than the capacity. The excess is a debt, which is added to the load over [`HORIZON`] windows, so
//! that the long-run throughput stays within capacity. A debt is at most [`MOST_DEBT`] windows,
//! because real queues hold microseconds of work and no CPU should pay long for the model's late
//! answer. A program that demands ten times the capacity in bursts of fewer than ten windows
//! therefore still gets more than the capacity.

use crate::curve::Curve;
use crate::num::{float, round};

/// Bytes of a line.
pub(crate) const LINE: u64 = 64;
/// The fraction of the way to a longer delay that one window covers.
const UP: f64 = 0.6;
/// The fraction of the way to a shorter delay that one window covers.
const DOWN: f64 = 0.4;
/// Windows over which a debt is paid.
const HORIZON: f64 = 4.0;
/// The largest debt, in windows.
const MOST_DEBT: f64 = 4.0;
/// The largest utilisation that a delay corresponds to: a wait of a thousand times `q`.
const TOP: f64 = 0.999;
/// Rounds over all resources in a window.
const ROUNDS: usize = 2;
/// Bisection steps: to one part in 10^7 of the capacity.
const HALVINGS: usize = 24;

/// One controller or one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resource {
    /// Picoseconds of its capacity that a line takes.
    pub service: f64,
    /// The scale `q` of its delay, in picoseconds.
    pub scale: f64,
    /// The measured curve that replaces the law.
    pub curve: Option<Curve>,
}

impl Resource {
    pub fn new(mb_per_s: f64, queue_ns: f64) -> Self {
        Self { service: 1e6 * float(LINE) / mb_per_s, scale: 1e3 * queue_ns, curve: None }
    }

    /// The resource for the controllers of a node.
    pub fn controller(node: &crate::spec::Node, queue_ns: f64) -> Self {
        Self { curve: Curve::new(node), ..Self::new(node.mb_per_s, queue_ns) }
    }

    /// Picoseconds that a line waits at a utilisation below 1.
    pub fn wait(&self, utilisation: f64) -> f64 {
        let law = || self.scale * utilisation * utilisation / (1.0 - utilisation);
        self.curve.as_ref().map_or_else(law, |curve| curve.wait(utilisation))
    }
}

/// All queues of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    resources: Vec<Resource>,
    /// Delay in force, in picoseconds.
    delay: Vec<f64>,
    /// The delay that the window being closed asks for.
    wanted: Vec<f64>,
    /// Debt, in picoseconds of service.
    debt: Vec<f64>,
    /// Total picoseconds that lines have waited since the last reset.
    waited: Vec<f64>,
    /// `a`, `n` and `B` of the window, CPU by CPU.
    carried: Vec<f64>,
    paid: Vec<f64>,
    busy: Vec<f64>,
    /// Scratch memory.
    users: Vec<User>,
}

impl Queues {
    pub fn new(resources: Vec<Resource>, cpus: usize) -> Self {
        let (count, none) = (resources.len(), vec![0.0; resources.len()]);
        let pairs = vec![0.0; count * cpus];
        let (delay, wanted, debt, waited) = (none.clone(), none.clone(), none.clone(), none);
        Self {
            resources,
            delay,
            wanted,
            debt,
            waited,
            carried: pairs.clone(),
            paid: pairs,
            busy: vec![0.0; cpus],
            users: Vec::with_capacity(cpus),
        }
    }

    /// Sets all delays and debts to zero.
    pub fn empty(&mut self) {
        self.delay.fill(0.0);
        self.debt.fill(0.0);
    }

    /// The delay in force, in picoseconds.
    pub fn delay(&self, resource: usize) -> f64 {
        self.delay[resource]
    }

    /// Picoseconds that lines have waited at a resource since [`Self::reset`]: the sum of the
    /// delays in force when each line was moved, in full even if a stream covered most of it.
    pub fn waited(&self, resource: usize) -> u64 {
        round(self.waited[resource])
    }

    /// Sets the waiting times to zero. Delays and debts are not affected.
    pub fn reset(&mut self) {
        self.waited.fill(0.0);
    }

    /// Picoseconds of the capacity that this many lines take.
    pub fn service(&self, resource: usize, lines: u64) -> u64 {
        round(self.resources[resource].service * float(lines))
    }

    /// Begins accounting for a window.
    pub fn begin(&mut self) {
        self.carried.fill(0.0);
        self.paid.fill(0.0);
        self.busy.fill(0.0);
    }

    /// Records how long a CPU ran.
    pub fn ran(&mut self, cpu: usize, picos: f64) {
        self.busy[cpu] = picos;
    }

    /// Records the lines that a CPU moved over a resource, and the lines whose delay it paid.
    pub fn moved(&mut self, cpu: usize, resource: usize, carried: f64, paid: f64) {
        let at = cpu * self.resources.len() + resource;
        self.carried[at] += carried;
        self.paid[at] += paid;
        self.waited[resource] += carried * self.delay[resource];
    }

    /// Ends accounting for a window of this many picoseconds, and sets the delays for the next one.
    pub fn end(&mut self, picos: f64) {
        self.owe(picos);
        self.wanted.copy_from_slice(&self.delay);
        for _ in 0..ROUNDS {
            for resource in 0..self.resources.len() {
                self.wanted[resource] = self.solve(resource, picos);
            }
        }
        for (delay, wanted) in self.delay.iter_mut().zip(&self.wanted) {
            let step = if wanted > delay { UP } else { DOWN };
            *delay += step * (wanted - *delay);
        }
    }

    fn owe(&mut self, picos: f64) {
        for resource in 0..self.resources.len() {
            let lines: f64 = self.carried.iter().skip(resource).step_by(self.resources.len()).sum();
            let debt = self.debt[resource] + lines * self.resources[resource].service - picos;
            self.debt[resource] = debt.clamp(0.0, MOST_DEBT * picos);
        }
    }

    /// The delay at which a resource carries its load, with the other resources at their new
    /// delays.
    fn solve(&mut self, resource: usize, picos: f64) -> f64 {
        self.gather(resource);
        let law = &self.resources[resource];
        let owed = self.debt[resource] / (HORIZON * picos);
        let asked =
            |delay: f64| owed + self.users.iter().map(|user| user.lines(delay)).sum::<f64>() * law.service / picos;
        if asked(0.0) <= 0.0 {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, TOP);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if asked(law.wait(middle)) > middle { low = middle } else { high = middle }
        }
        law.wait(0.5 * (low + high))
    }

    /// The users of a resource, with the other resources at their new delays.
    fn gather(&mut self, resource: usize) {
        self.users.clear();
        for (cpu, busy) in self.busy.iter().enumerate() {
            let own = cpu * self.delay.len()..(cpu + 1) * self.delay.len();
            let (carried, paid) = (&self.carried[own.clone()], &self.paid[own]);
            if carried[resource] > 0.0 {
                let now = self.wanted.iter().zip(&self.delay).map(|(wanted, now)| wanted - now);
                let longer: f64 = paid.iter().zip(now).map(|(lines, more)| lines * more).sum();
                let unloaded = busy + longer - paid[resource] * self.wanted[resource];
                self.users.push(User { carried: carried[resource], busy: *busy, paid: paid[resource], unloaded });
            }
        }
    }
}

/// A CPU's use of a resource in a window.
#[derive(Clone, Copy, Debug)]
struct User {
    carried: f64,
    busy: f64,
    paid: f64,
    /// How long it would have run for the same work if this resource had no delay.
    unloaded: f64,
}

impl User {
    /// The lines that it would have moved in the same time at another delay.
    fn lines(&self, delay: f64) -> f64 {
        self.carried * self.busy / (self.unloaded + self.paid * delay).max(LEAST * self.busy)
    }
}

/// The least ratio of a CPU's time to its present time: however short the delays become, it is not
/// expected to run more than twenty times as fast.
const LEAST: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    /// One CPU that pays for all that it carries, on one resource with 64 ns per line and `q` = 200
    /// ns.
    fn queues() -> Queues {
        Queues::new(vec![Resource::new(1000.0, 200.0)], 1)
    }

    fn window(queues: &mut Queues, lines: f64, busy: f64) {
        queues.begin();
        queues.ran(0, busy);
        queues.moved(0, 0, lines, lines);
        queues.end(1e8);
    }

    #[test]
    fn the_law_is_that_of_the_contention_simulator() {
        // The values of the law's own tests: q = 20 ns; 10 ns at one half, 162 ns at 0.9.
        let law = Resource::new(10_000.0, 20.0);
        assert!((law.wait(0.5) - 10e3).abs() < 1e-6 && (law.wait(0.9) - 162e3).abs() < 1e-6);
        assert!((law.service - 6400.0).abs() < 1e-9, "64 bytes at 10 GB/s take 6.4 ns");
    }

    #[test]
    fn the_delay_goes_most_of_the_way_to_the_fixed_point_in_one_window() {
        // 1250 lines in 100 us are 0.8 of the capacity, at 80 ns each. If each had waited w longer:
        // u = 64 / (80 + w), w = 200 u^2 / (1 - u), whose root is found by bisection here.
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..60 {
            let u = 0.5 * (low + high);
            if 64.0 / (80.0 + 200.0 * u * u / (1.0 - u)) > u { low = u } else { high = u }
        }
        let wait = 200e3 * low * low / (1.0 - low);
        let mut queues = queues();
        window(&mut queues, 1250.0, 1e8);
        assert!((queues.delay(0) / (UP * wait) - 1.0).abs() < 1e-4, "{} {wait}", queues.delay(0));
    }

    #[test]
    fn what_pays_nothing_is_met_by_no_more_than_the_longest_wait() {
        let mut queues = queues();
        for _ in 0..50 {
            queues.begin();
            queues.moved(0, 0, 1e5, 0.0);
            queues.ran(0, 1e8);
            queues.end(1e8);
        }
        let longest = queues.resources[0].wait(TOP);
        assert!((queues.delay(0) / longest - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_debt_is_bounded_and_paid_when_idle() {
        let mut queues = queues();
        window(&mut queues, 1e6, 1e8);
        assert!((queues.debt[0] - MOST_DEBT * 1e8).abs() < 1.0);
        (0..4).for_each(|_| window(&mut queues, 0.0, 0.0));
        assert_eq!(queues.debt[0], 0.0);
    }

    /// 1000 lines at no delay, then 1000 at the resulting delay: the waiting time is 1000 times
    /// that delay.
    #[test]
    fn what_lines_waited_is_the_delay_in_force_when_they_were_moved() {
        let mut queues = queues();
        window(&mut queues, 1000.0, 1e8);
        assert_eq!(queues.waited(0), 0);
        let delay = queues.delay(0);
        window(&mut queues, 1000.0, 1e8);
        assert!(delay > 0.0 && queues.waited(0) == round(1000.0 * delay));
        queues.reset();
        assert!(queues.waited(0) == 0 && queues.delay(0) > 0.0);
    }

    #[test]
    fn an_idle_machine_waits_for_nothing() {
        let mut queues = queues();
        window(&mut queues, 0.0, 1e8);
        assert_eq!(queues.delay(0), 0.0);
    }
}
