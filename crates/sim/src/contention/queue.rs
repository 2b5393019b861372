//! The network of queues: memory controllers and the two directions of each link.
//!
//! **Queue.** A transfer of one cache line waits `W = q u^2 / (1 - u)` at a resource of utilisation `u`: under one tenth of a controller's
//! idle latency at half load, two to three times it near 0.9, and beyond bound at 1, the shape that latency-against-load
//! measurements show. Inverted: `u(W) = 2W / (W + sqrt(W^2 + 4qW))`, always below 1, so that what is delivered,
//! `C u(W)`, stays below the capacity `C`.
//!
//! **Flow.** A thread (or a page copy) executes units of work, each taking `t = fixed + (a / mlp) * sum_k v_k W_k` seconds, where
//! `a` is its LLC misses a unit and `v_k` the lines that pass resource `k` for a miss, write-backs included: whoever
//! causes a transfer waits for it, overlapped with `mlp` others. Its rate is `r = share / t`, its load on `k` is `64 a v_k r`.
//!
//! **Fixed point.** Wanted are waits with `C_k u_k(W_k) = sum of loads on k` for every `k`. These equations are the gradient of
//!
//! ```text
//! P(W) = sum_k C_k * integral_0^W_k u_k(w) dw  -  sum_i 64 * share_i * mlp_i * ln t_i(W)
//! ```
//!
//! set to zero. `u_k` is strictly increasing and `-ln` of a positive affine function is convex, so `P` is strictly convex; it
//! grows linearly where the logarithms grow slower, so its level sets are bounded: **there is exactly one fixed point**. Minimising
//! one coordinate at a time, exactly, in cyclic order, converges to the minimiser of such a function (Bertsekas, Nonlinear Programming,
//! proposition 2.7.1). Each coordinate's derivative increases in `W_k`, so its root is bracketed. The loop ends when
//! every equation holds to one part in 10^9 of the capacity, not after a number of rounds.

use super::root::increasing_root;

/// Bytes of a cache line.
pub const LINE: f64 = 64.0;

/// Every equation holds to this part of its capacity at the end.
const BALANCE: f64 = 1e-9;
/// Relative accuracy of one coordinate; finer than [`BALANCE`], so that a sweep can reach it.
const COORDINATE: f64 = 1e-12;

/// A memory controller or one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resource {
    /// Bytes per second that it can carry.
    pub capacity: f64,
    /// The scale `q` of its queueing delay, in seconds.
    pub queue: f64,
}

impl Resource {
    /// Utilisation at which a transfer waits `wait` seconds.
    #[must_use]
    pub fn utilisation(&self, wait: f64) -> f64 {
        if wait <= 0.0 { 0.0 } else { 2.0 * wait / (wait + (wait * wait + 4.0 * self.queue * wait).sqrt()) }
    }

    /// Seconds that a transfer waits at a utilisation below 1.
    #[must_use]
    pub fn wait(&self, utilisation: f64) -> f64 {
        self.queue * utilisation * utilisation / (1.0 - utilisation)
    }
}

/// A stream of work that causes transfers.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The part of the time that it runs (its share of its core).
    pub share: f64,
    /// Seconds a unit of work without any queueing.
    pub fixed: f64,
    /// LLC misses a unit of work.
    pub misses: f64,
    /// Misses in flight together.
    pub mlp: f64,
    /// Lines that pass each resource for one miss, ascending by resource.
    pub visits: Vec<(usize, f64)>,
}

impl Flow {
    /// Seconds a unit of work at given waits.
    #[must_use]
    pub fn unit_time(&self, waits: &[f64]) -> f64 {
        self.fixed + self.misses / self.mlp * self.visits.iter().map(|(k, lines)| lines * waits[*k]).sum::<f64>()
    }

    /// Units of work a second at given waits.
    #[must_use]
    pub fn rate(&self, waits: &[f64]) -> f64 {
        self.share / self.unit_time(waits)
    }
}

/// Bytes a second on every resource at given waits.
#[must_use]
pub fn loads(resources: &[Resource], flows: &[Flow], waits: &[f64]) -> Vec<f64> {
    let mut loads = vec![0.0; resources.len()];
    for flow in flows {
        let misses = LINE * flow.misses * flow.rate(waits);
        flow.visits.iter().for_each(|(k, lines)| loads[*k] += misses * lines);
    }
    loads
}

/// Brings `waits` (any start; the last solution is a good one) to the fixed point.
pub fn settle(resources: &[Resource], flows: &[Flow], waits: &mut [f64]) {
    let users = users(resources.len(), flows);
    while !balanced(resources, flows, waits) {
        let before = waits.to_vec();
        for (k, resource) in resources.iter().enumerate() {
            waits[k] = coordinate(*resource, k, flows, &users[k], waits);
        }
        if before == waits {
            return; // no float lies nearer
        }
    }
}

fn users(resources: usize, flows: &[Flow]) -> Vec<Vec<(usize, f64)>> {
    let mut users = vec![Vec::new(); resources];
    for (index, flow) in flows.iter().enumerate() {
        let on = flow.visits.iter().filter(|(_, lines)| lines * flow.misses * flow.share > 0.0);
        on.for_each(|(k, lines)| users[*k].push((index, *lines)));
    }
    users
}

fn balanced(resources: &[Resource], flows: &[Flow], waits: &[f64]) -> bool {
    let loads = loads(resources, flows, waits);
    let holds = |((resource, wait), load): ((&Resource, &f64), &f64)| {
        (resource.utilisation(*wait) - load / resource.capacity).abs() <= BALANCE
    };
    resources.iter().zip(waits.iter()).zip(&loads).all(holds)
}

/// The wait at resource `k` that balances it while all other waits stay.
fn coordinate(resource: Resource, k: usize, flows: &[Flow], users: &[(usize, f64)], waits: &[f64]) -> f64 {
    // For each user: bytes a unit of work times share, seconds without this resource, seconds for each second of wait.
    let terms: Vec<_> = users.iter().map(|(index, lines)| term(&flows[*index], *lines, waits[k], waits)).collect();
    let excess = |wait: f64| {
        let load: f64 = terms.iter().map(|(bytes, rest, slope)| bytes / (rest + slope * wait)).sum();
        resource.utilisation(wait) - load / resource.capacity
    };
    if terms.is_empty() {
        return 0.0;
    }
    let mut high = waits[k].max(resource.queue);
    while excess(high) < 0.0 {
        high *= 4.0;
    }
    increasing_root(0.0, high, COORDINATE, excess)
}

fn term(flow: &Flow, lines: f64, wait: f64, waits: &[f64]) -> (f64, f64, f64) {
    let slope = flow.misses / flow.mlp * lines;
    let rest = (flow.unit_time(waits) - slope * wait).max(flow.fixed);
    (LINE * flow.misses * lines * flow.share, rest, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller() -> Resource {
        Resource { capacity: 10e9, queue: 20e-9 }
    }

    fn stream(visits: Vec<(usize, f64)>) -> Flow {
        // 30 misses per 1000 instructions, 100 ns over 4: 0.4 ns of work and 0.75 ns of memory an instruction.
        Flow { share: 1.0, fixed: 0.4e-9 + 0.03 * 100e-9 / 4.0, misses: 0.03, mlp: 4.0, visits }
    }

    #[test]
    fn utilisation_and_wait_are_inverse() {
        for tenth in 1..10 {
            let u = f64::from(tenth) / 10.0;
            assert!((controller().utilisation(controller().wait(u)) - u).abs() < 1e-12);
        }
        // By hand: at one half, 20 ns * 0.25 / 0.5 = 10 ns; at 0.9, 20 * 0.81 / 0.1 = 162 ns.
        assert!((controller().wait(0.5) - 10e-9).abs() < 1e-18);
        assert!((controller().wait(0.9) - 162e-9).abs() < 1e-16);
    }

    #[test]
    fn latency_is_flat_to_half_of_capacity_and_two_to_three_times_near_saturation() {
        let idle = 110e-9;
        let factor = |u: f64| (idle + controller().wait(u)) / idle;
        assert!(factor(0.5) < 1.1);
        assert!((2.0..3.0).contains(&factor(0.9)), "{}", factor(0.9));
    }

    #[test]
    fn the_fixed_point_does_not_depend_on_the_start() {
        let resources = [controller(), Resource { capacity: 4e9, queue: 15e-9 }, controller()];
        let flows: Vec<_> = (0..9)
            .map(|i| stream(if i < 5 { vec![(0, 1.3), (1, 1.0)] } else { vec![(0, 0.5), (1, 0.2), (2, 0.8)] }))
            .collect();
        let mut cold = vec![0.0; 3];
        settle(&resources, &flows, &mut cold);
        let mut hot = vec![5e-6, 1e-9, 3e-6];
        settle(&resources, &flows, &mut hot);
        for (a, b) in cold.iter().zip(&hot) {
            assert!((a - b).abs() <= 1e-6 * a.abs(), "{cold:?} {hot:?}");
        }
        for (load, resource) in loads(&resources, &flows, &cold).iter().zip(&resources) {
            assert!(*load <= resource.capacity * (1.0 + 1e-8));
        }
    }

    #[test]
    fn a_hundred_streams_saturate_and_share() {
        let flows = vec![stream(vec![(0, 1.0)]); 100];
        let mut waits = vec![0.0];
        settle(&[controller()], &flows, &mut waits);
        let load = loads(&[controller()], &flows, &waits)[0];
        assert!(load < 10e9 && load > 9.5e9, "{load}");
        assert!((flows[0].rate(&waits) * 0.03 * 64.0 - load / 100.0).abs() < 1.0);
    }
}
