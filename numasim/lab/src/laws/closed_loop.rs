//! Solves the queueing law for CPUs that wait for what they request: finds the throughput at which
//! demand and delay agree. The solution follows the law's text alone (the head of
//! numasim/model/src/queue.rs), not the model's code: a line waits `q u^2 / (1 - u)` at a resource
//! of utilisation `u`.
//!
//! A CPU fetches a line every `t` ns: the time between misses plus the cost of the miss. A fraction
//! `c` of its misses is covered by a stream. A covered miss costs a `depth`-th, but no less than
//! the slowest resource on the way takes to carry a line. Of the cost of the other misses the CPU
//! waits for a fraction `h`, which is less than 1 if misses overlap. For each line fetched, `v`
//! lines are written back, for which nothing waits:
//!
//! ```text
//! t_i  = rest_i + (1 - c_i) h_i (L_i + W_i) + c_i max((L_i + W_i) / depth, s_i)
//! W_i  = sum of w over the way of i
//! u_r  = s_r sum_i (lines of i over r) / t_i
//! w_r  = q_r u_r^2 / (1 - u_r)
//! ```

/// A memory controller, or one direction of a link.
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    /// ns that one line takes.
    pub service: f64,
    /// `q` of the law, in ns.
    pub scale: f64,
}

/// A CPU.
#[derive(Clone, Debug)]
pub struct User {
    /// ns between misses.
    pub rest: f64,
    /// Unloaded latency, ns.
    pub latency: f64,
    /// Fraction of its misses that a stream covers.
    pub covered: f64,
    /// Fraction of the cost of its other misses for which it waits: 1 if it waits for each miss.
    pub waits: f64,
    /// Lines written back for each line fetched.
    pub written: f64,
    /// Resources that fetched lines pass.
    pub reads: Vec<usize>,
    /// Resources that written lines pass.
    pub writes: Vec<usize>,
}

/// Rounds over all resources. In each round every resource is solved once, with the others fixed.
const ROUNDS: usize = 200;
/// Bisections of one utilisation.
const HALVINGS: usize = 50;

/// The utilisation of each resource.
pub fn utilisation(resources: &[Resource], users: &[User], depth: f64) -> Vec<f64> {
    let mut loads = vec![0.0; resources.len()];
    for _ in 0..ROUNDS {
        for at in 0..resources.len() {
            let asked = |load: f64| {
                let mut tried = loads.clone();
                tried[at] = load;
                demand(resources, users, depth, &tried, at)
            };
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..HALVINGS {
                let middle = 0.5 * (low + high);
                if asked(middle) > middle { low = middle } else { high = middle }
            }
            loads[at] = low;
        }
    }
    loads
}

/// The utilisation of one resource that the users demand if all resources have these utilisations.
fn demand(resources: &[Resource], users: &[User], depth: f64, loads: &[f64], at: usize) -> f64 {
    let wait = |resource: &usize| {
        let load = loads[*resource].min(1.0 - 1e-12);
        resources[*resource].scale * load * load / (1.0 - load)
    };
    let lines = |user: &User| {
        let cost = user.latency + user.reads.iter().map(wait).sum::<f64>();
        let slowest = user.reads.iter().map(|one| resources[*one].service).fold(0.0, f64::max);
        let miss = (1.0 - user.covered) * user.waits * cost + user.covered * (cost / depth).max(slowest);
        let times = |way: &[usize]| if way.contains(&at) { 1.0 } else { 0.0 };
        (times(&user.reads) + user.written * times(&user.writes)) / (user.rest + miss)
    };
    resources[at].service * users.iter().map(lines).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> User {
        User { rest: 0.0, latency: 300.0, covered: 0.0, waits: 1.0, written: 0.0, reads: vec![0], writes: vec![0] }
    }

    /// One resource of 50 ns a line, q = 100 ns. At u = 1/2 a line waits 100 * 0.25 / 0.5 = 50 ns
    /// and costs 350 ns. n CPUs demand n 50 / 350, which is half of the capacity at n = 3.5: three
    /// CPUs, and one that demands half as much (350 ns of rest).
    #[test]
    fn three_and_a_half_cpus_by_hand() {
        let resources = [Resource { service: 50.0, scale: 100.0 }];
        let slow = User { rest: 350.0, ..user() };
        let users = [user(), user(), user(), slow];
        assert!((utilisation(&resources, &users, 8.0)[0] - 0.5).abs() < 1e-9);
    }

    /// Covered misses cost (300 + 50) / 7 = 50 ns, as much as the resource takes for a line. With
    /// 150 ns of rest, and a line written for each line fetched, a CPU demands 2 * 50 / 200 of the
    /// capacity. That is one half, the utilisation for which the delay was computed.
    #[test]
    fn a_covered_stream_that_writes_by_hand() {
        let resources = [Resource { service: 50.0, scale: 100.0 }];
        let stream = User { covered: 1.0, written: 1.0, rest: 150.0, ..user() };
        assert!((utilisation(&resources, &[stream], 7.0)[0] - 0.5).abs() < 1e-9);
    }

    /// A link of 50 ns a line before a controller of 25 ns a line. At u = 1/2 of the link and u =
    /// 1/4 of the controller, lines wait 50 and 100 / 12 ns.
    #[test]
    fn a_line_waits_at_each_resource_of_its_way() {
        let resources = [Resource { service: 25.0, scale: 100.0 }, Resource { service: 50.0, scale: 100.0 }];
        let cost = 100.0; // one CPU at 100 ns a line asks for half of the link
        let latency = cost - 50.0 - 100.0 / 12.0;
        let one = User { latency, reads: vec![0, 1], ..user() };
        let loads = utilisation(&resources, &[one], 8.0);
        assert!((loads[0] - 0.25).abs() < 1e-6 && (loads[1] - 0.5).abs() < 1e-6, "{loads:?}");
    }

    #[test]
    fn any_demand_stays_below_the_capacity() {
        let resources = [Resource { service: 50.0, scale: 1.0 }];
        let loads = utilisation(&resources, &vec![user(); 200], 8.0);
        assert!(loads[0] > 0.99 && loads[0] < 1.0, "{loads:?}");
    }
}
