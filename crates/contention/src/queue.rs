//! Memory controllers and the two directions of each link, as queues.
//!
//! A transfer of one cache line waits `W = q u^2 / (1 - u)` at a resource of utilisation `u`: less
//! than one tenth of a controller's idle latency at half load, two to three times the idle latency
//! near 0.9, and without bound at 1. Measurements of latency against load show this shape. So the
//! delivered bandwidth, `C u`, stays below the capacity `C` whatever the demand.

/// Bytes of a cache line.
pub const LINE: f64 = 64.0;

/// The memory controllers of a node, or one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resource {
    /// Bytes per second that it can carry.
    pub capacity: f64,
    /// The scale `q` of its queueing delay, in seconds.
    pub queue: f64,
}

impl Resource {
    /// Whether it is valid as part of a machine.
    pub(crate) fn is_sound(&self) -> bool {
        [self.capacity, self.queue].into_iter().all(|value| value > 0.0 && value.is_finite())
    }

    /// Utilisation at which a transfer waits `wait` seconds.
    #[must_use]
    pub fn utilisation(&self, wait: f64) -> f64 {
        if wait <= 0.0 { 0.0 } else { 2.0 * wait / (wait + (wait * wait + 4.0 * self.queue * wait).sqrt()) }
    }

    /// Seconds that a transfer waits at a utilisation below 1.
    #[must_use]
    pub fn wait(&self, utilisation: f64) -> f64 {
        self.wait_at_slack(1.0 - utilisation)
    }

    /// Seconds that a transfer waits if a fraction `slack` of the capacity is idle. The result is
    /// exact even if hardly any of it is.
    pub(crate) fn wait_at_slack(&self, slack: f64) -> f64 {
        let utilisation = 1.0 - slack;
        self.queue * utilisation * utilisation / slack
    }

    /// The idle fraction of the capacity at which a transfer waits `wait` seconds.
    pub(crate) fn slack(&self, wait: f64) -> f64 {
        let utilisation = self.utilisation(wait);
        if wait > self.queue { self.queue * utilisation * utilisation / wait } else { 1.0 - utilisation }
    }

    /// Increase of a transfer's wait for each unit of utilisation.
    pub(crate) fn steepness(&self, slack: f64) -> f64 {
        self.queue * (1.0 - slack) * (1.0 + slack) / (slack * slack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller() -> Resource {
        Resource { capacity: 10e9, queue: 20e-9 }
    }

    #[test]
    fn utilisation_and_wait_are_inverse() {
        for tenth in 1..10 {
            let u = f64::from(tenth) / 10.0;
            assert!((controller().utilisation(controller().wait(u)) - u).abs() < 1e-12);
            let rise = (controller().wait(u + 1e-6) - controller().wait(u - 1e-6)) / 2e-6;
            assert!((controller().steepness(1.0 - u) / rise - 1.0).abs() < 1e-6);
        }
        // By hand: at one half, 20 ns * 0.25 / 0.5 = 10 ns; at 0.9, 20 * 0.81 / 0.1 = 162 ns.
        assert!((controller().wait(0.5) - 10e-9).abs() < 1e-18);
        assert!((controller().wait(0.9) - 162e-9).abs() < 1e-16);
    }
}
