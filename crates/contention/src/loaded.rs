//! The latency of one additional load at the fixed point that was found last, as seen by a probe
//! that times single loads. The load itself is taken to change nothing.

use crate::machine::Machine;
use crate::solver::Solver;

impl Solver {
    /// Seconds that a transfer waits at each resource of the machine of the last question, by
    /// position; 0 at resources that no stream passes.
    #[must_use]
    pub fn waits(&self, machine: &Machine) -> Vec<f64> {
        let mut waits = vec![0.0; machine.resources().len()];
        for ((k, resource), slack) in self.used.iter().zip(&self.network.resources).zip(&self.at.point.slack) {
            waits[*k] = resource.wait_at_slack(*slack);
        }
        waits
    }

    /// Seconds of a memory access: the idle latency, plus the waits at the controllers of the
    /// memory's node and on the links that its data passes. Row = the CPU's node, column = the
    /// memory's, by position. Before the first answer this is the idle table.
    #[must_use]
    pub fn loaded_latency(&self, machine: &Machine) -> Vec<Vec<f64>> {
        let waits = self.waits(machine);
        let waited = |from: usize, to: usize| {
            let links = machine.route(to, from).iter().map(|link| waits[*link]);
            waits[to] + links.sum::<f64>()
        };
        let row = |(from, row): (usize, &Vec<f64>)| {
            row.iter().enumerate().map(|(to, idle)| idle + waited(from, to)).collect()
        };
        machine.latency().iter().enumerate().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::{Cache, Machine, Packets, Parts, Place};
    use crate::question::{Demand, Question};
    use crate::queue::Resource;
    use crate::{Budget, MissCurve, Solver};

    /// Two nodes, 80 ns local and 130 ns remote, 10 GB/s per node with a queue of 15 ns, one link
    /// of 5 GB/s each way.
    fn machine() -> Machine {
        let resource = |gb: f64| Resource { capacity: gb * 1e9, queue: 15e-9 };
        Machine::new(Parts {
            latency: vec![vec![80e-9, 130e-9], vec![130e-9, 80e-9]],
            resources: vec![resource(10.0), resource(10.0), resource(5.0), resource(5.0)],
            routes: vec![vec![vec![], vec![2]], vec![vec![3], vec![]]],
            packets: Packets::default(),
            llcs: vec![Cache { bytes: 8e6, ways: 16, private: 0.0 }; 2],
        })
        .unwrap()
    }

    /// A stream of 20 misses per 1000 instructions on node 0 whose memory is on a node.
    fn stream(memory: usize) -> Demand {
        let weights = (0..2).map(|node| if node == memory { 1.0 } else { 0.0 }).collect();
        Demand {
            share: 1.0,
            place: Place { node: 0, llc: 0 },
            mask: u64::MAX,
            compute: 1e-10,
            curve: MissCurve::parametric(20.0, 0.0, 1.0),
            factor: 1.0,
            mlp: 4.0,
            prefetch: 0.0,
            write_back: 0.0,
            footprint: 1e9,
            reach: 1.0,
            weights,
            delay: 0.0,
            held: 0.0,
        }
    }

    #[test]
    fn before_the_first_answer_the_machine_is_idle() {
        assert_eq!(Solver::default().loaded_latency(&machine()), machine().latency());
    }

    /// Every thread's stall is the time of a load of its own divided by the misses in flight.
    #[test]
    fn a_probe_waits_as_the_threads_do() {
        let (machine, mut solver) = (machine(), Solver::default());
        for memory in [0, 1] {
            let threads = vec![stream(memory); 3];
            let question = Question { machine: &machine, threads: &threads, copy: None };
            let rate = solver.ask(&question, Budget::default()).unwrap().rates[0];
            let stall = (1.0 / rate - 1e-10) / 0.02;
            let loaded = solver.loaded_latency(&machine);
            assert!((loaded[0][memory] / (4.0 * stall) - 1.0).abs() < 1e-6, "{loaded:?} {stall}");
            // Resources that no stream passes are idle: node 1 seen from itself, or node 0.
            let idle = 1 - memory;
            assert!((loaded[idle][idle] - 80e-9).abs() < 1e-18, "{loaded:?}");
        }
    }

    /// Data of node 1 for CPUs of node 0 fill the link in that direction. A load in the other
    /// direction finds an empty link, and the controller of node 0 idle.
    #[test]
    fn each_direction_of_a_link_has_its_own_queue() {
        let (machine, mut solver) = (machine(), Solver::default());
        let threads = vec![stream(1); 4];
        solver.ask(&Question { machine: &machine, threads: &threads, copy: None }, Budget::default()).unwrap();
        let loaded = solver.loaded_latency(&machine);
        let waits = solver.waits(&machine);
        assert!(waits[3] > 10.0 * waits[1] && waits[0] <= 0.0 && waits[2] <= 0.0, "{waits:?}");
        assert!((loaded[0][1] - (130e-9 + waits[1] + waits[3])).abs() < 1e-15, "{loaded:?}");
        assert!((loaded[1][1] - (80e-9 + waits[1])).abs() < 1e-15 && (loaded[1][0] - 130e-9).abs() < 1e-15);
    }
}
