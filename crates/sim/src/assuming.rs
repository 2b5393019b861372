//! A workload under an assumption: one kind of estimate is set to one end of its range, in the
//! machine and in every program.

use crate::error::SimError;
use crate::estimate::{End, Estimate};
use crate::workload::Workload;
use std::sync::Arc;

impl Workload {
    /// The same workload with a kind of estimate set to an end of its range wherever its machine or
    /// a program has a range. The workload is unchanged if none has.
    ///
    /// # Errors
    /// As [`crate::MachineSpec::from_toml`]; never for a machine whose ranges were read from a
    /// file.
    pub fn assuming(&self, estimate: Estimate, end: End) -> Result<Self, SimError> {
        let mut assumed = self.clone();
        assumed.machine = Arc::new(self.machine.assuming(estimate, end)?);
        for app in &mut assumed.apps {
            app.program = Arc::new(app.program.assuming(estimate, end));
        }
        Ok(assumed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::NodeId;

    fn workload() -> Workload {
        let text = "machine = \"nehalem-2x4\"\n[[app]]\nprogram = \"lbm\"\n[[app]]\nprogram = \"povray\"\n";
        Workload::from_toml("w.toml", text).unwrap()
    }

    /// Each kind of estimate changes what it names, to the value in the files, and nothing else.
    #[test]
    fn an_assumption_changes_what_it_names() {
        let plain = workload();
        let seen = |estimate, end| {
            let workload = plain.assuming(estimate, end).unwrap();
            let node = workload.machine.topology.nodes()[0].max_bandwidth.unwrap().0 / 25.6e9;
            let link = workload.machine.links()[0].bandwidth.0 / 11.72e9;
            (node, link, workload.apps[0].program.prefetch, workload.apps[1].program.prefetch)
        };
        let near = |seen: (f64, f64, f64, f64), node: f64, link: f64, lbm: f64| {
            let all = [(seen.0, node), (seen.1, link), (seen.2, lbm), (seen.3, 0.0)];
            assert!(all.iter().all(|(a, b)| (a - b).abs() < 1e-9), "{seen:?}");
        };
        near(seen(Estimate::NodeRate, End::Low), 0.6, 0.8, 0.46);
        near(seen(Estimate::NodeRate, End::High), 0.83, 0.8, 0.46);
        near(seen(Estimate::LinkRate, End::Low), 0.8, 0.7, 0.46);
        near(seen(Estimate::LinkRate, End::High), 0.8, 0.89, 0.46);
        near(seen(Estimate::Prefetch, End::Low), 0.8, 0.8, 0.0);
        near(seen(Estimate::Prefetch, End::High), 0.8, 0.8, 1.5);
    }

    /// A machine without ranges is unchanged. Latencies and places are unchanged in any case.
    #[test]
    fn where_nothing_is_estimated_nothing_changes() {
        let plain = crate::MachineSpec::synthetic("node:2 llc:1 core:2").unwrap();
        for estimate in Estimate::ALL {
            for end in End::BOTH {
                assert_eq!(plain.assuming(estimate, end).unwrap(), plain, "{} {}", estimate.name(), end.name());
            }
        }
        let nehalem = crate::machine::find("nehalem-2x4").unwrap();
        let low = nehalem.assuming(Estimate::NodeRate, End::Low).unwrap();
        assert_eq!((low.idle_latency(), low.places), (nehalem.idle_latency(), nehalem.places));
        assert!(low.topology.nodes().iter().map(|node| node.id).eq([NodeId(0), NodeId(1)]));
    }
}
