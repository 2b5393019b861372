//! What the policy optimises: how much the gain of each program counts, and how much one may lose.
//!
//! Weights multiply the logarithms of speed-ups in every sum by which a change is judged, before it
//! is made and after. What one program may lose is measured against the unweighted gain of all.
//! With the objective "throughput" each program weighs 1. With "fairness" it weighs the square of
//! its slowdown, so that one at half of its speed weighs four times as much as one at full speed.
//! The mean weight is 1, so that what a change must gain stays the same. A protected program weighs
//! more on top of that.

use super::config::{Config, Objective};
use super::named::{is_one_of, parse_target};
use isobar_model::{Cgroup, num};

/// What one program may lose if all together gain.
#[derive(Clone, Copy, Debug)]
pub struct LossLimit {
    /// As a fraction of what all gain.
    part: f64,
    /// In logarithms of its speed, whatever all gain.
    most: f64,
}

/// What one program may be predicted to lose: a quarter of its speed at most.
pub const FORETOLD: LossLimit = LossLimit { part: 0.2, most: 0.3 };
/// What one program may be measured to lose: half of its speed at most. A rollback costs what the
/// change gained, and does not always restore the earlier state: a program that had a cache to
/// itself while others evicted each other's lines may not have it again.
pub const MEASURED: LossLimit = LossLimit { part: 0.25, most: 0.7 };

/// Whether a loss is acceptable for what all together gain, both as logarithms of speeds.
#[must_use]
pub fn is_borne(loss: f64, all: f64, bearable: LossLimit) -> bool {
    loss <= (bearable.part * all).clamp(0.0, bearable.most)
}

impl Config {
    /// Whether a program is protected: its name or group is one of `protect`.
    #[must_use]
    pub fn protects(&self, name: &str, cgroup: Option<&Cgroup>) -> bool {
        self.protect.iter().any(|wanted| is_one_of(wanted, name, cgroup))
    }

    /// How many times as long as alone a program may take, by the first of `targets` that names it
    /// or its group. `None` if it is protected.
    #[must_use]
    pub fn target(&self, name: &str, cgroup: Option<&Cgroup>) -> Option<f64> {
        let mut targets = self.targets.iter().filter_map(|target| parse_target(target).ok());
        let own = targets.find(|(wanted, _)| is_one_of(wanted, name, cgroup))?;
        (!self.protects(name, cgroup)).then_some(own.1)
    }
}

/// The weight of each program, from its slowdown and whether it is protected.
#[must_use]
pub fn weights(config: &Config, programs: &[(f64, bool)]) -> Vec<f64> {
    let fair = |slowdown: f64| match config.objective {
        Objective::Throughput => 1.0,
        Objective::Fairness => slowdown.max(1.0) * slowdown.max(1.0),
    };
    let mean =
        programs.iter().map(|(slowdown, _)| fair(*slowdown)).sum::<f64>() / num::float_len(programs.len().max(1));
    let more = |protected: bool| if protected { config.protect_weight } else { 1.0 };
    programs.iter().map(|(slowdown, protected)| fair(*slowdown) / mean.max(1e-12) * more(*protected)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slowdowns of 1 and 2 weigh 1 to 4, with a mean of 1: 0.4 and 1.6.
    #[test]
    fn fairness_weighs_by_the_square_of_slowdowns() {
        let fair = Config { objective: Objective::Fairness, ..Config::default() };
        assert_eq!(weights(&fair, &[(1.0, false), (2.0, false)]), [0.4, 1.6]);
        assert_eq!(weights(&Config::default(), &[(1.0, false), (2.0, false)]), [1.0, 1.0]);
    }

    /// A protected program weighs four times what it would otherwise, and the others weigh the
    /// same.
    #[test]
    fn a_protected_program_weighs_more() {
        assert_eq!(weights(&Config::default(), &[(1.0, true), (3.0, false)]), [4.0, 1.0]);
        let fair = Config { objective: Objective::Fairness, ..Config::default() };
        assert_eq!(weights(&fair, &[(1.0, true), (2.0, false)]), [1.6, 1.6]);
    }

    /// What earlier changes took of a program counts, too. Without a gain, no loss is acceptable.
    #[test]
    fn a_loss_is_borne_for_a_part_of_what_all_gain() {
        let foretold = |loss: f64, all: f64| is_borne(loss, all, FORETOLD);
        assert!(foretold(0.19, 1.0) && !foretold(0.21, 1.0) && !foretold(0.31, 9.0));
        assert!(foretold(0.0, -1.0) && !foretold(0.01, -1.0));
        assert!(is_borne(0.34, 5.1, MEASURED) && !is_borne(0.34, 1.3, MEASURED) && !is_borne(0.71, 9.0, MEASURED));
    }

    #[test]
    fn names_are_protected_whole_or_by_their_beginning() {
        let config = Config { protect: vec!["redis".into(), "my*".into()], ..Config::default() };
        let protected = ["redis", "redis-cli", "mysqld", "my", "m"].map(|name| config.protects(name, None));
        assert_eq!(protected, [true, false, true, true, false]);
    }

    /// The first target that fits counts, and none for a protected program. The name of a group may
    /// contain `=`.
    #[test]
    fn a_target_is_a_name_and_a_slowdown() {
        let targets = ["my*=1.5", "mysqld=2", "unit:a=b.service=1.1"].map(str::to_owned).to_vec();
        let config = Config { protect: vec!["myown".into()], targets, ..Config::default() };
        let unit = Cgroup::at("/system.slice/a=b.service");
        assert_eq!(config.target("mysqld", None), Some(1.5));
        assert_eq!(config.target("x", Some(&unit)), Some(1.1));
        assert_eq!([config.target("myown", None), config.target("x", None)], [None, None]);
    }

    #[test]
    fn groups_are_protected_whatever_their_programs_are_called() {
        let protect = ["unit:redis.service", "pod:default/*"].map(str::to_owned).to_vec();
        let config = Config { protect, ..Config::default() };
        let pod = "/kubepods/burstable/pod0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
        let protected = [
            Some(Cgroup::at("/system.slice/redis.service")),
            Some(Cgroup::at("/system.slice/nginx.service")),
            Some(Cgroup { path: pod.to_owned(), name: Some("default/web".to_owned()) }),
            Some(Cgroup { path: pod.to_owned(), name: Some("other/web".to_owned()) }),
            None,
        ];
        let protected = protected.map(|cgroup| config.protects("redis-server", cgroup.as_ref()));
        assert_eq!(protected, [true, false, true, false, false]);
    }
}
