//! Where the kernel's scheduler would put a program. The scheduler starts programs where the fewest
//! threads run, by node first and then by cache, and knows nothing of memory. A program that is
//! sent to a place with more threads than it leaves behind opens a seat, which the kernel gives to
//! whatever starts next: in effect an exchange with a program that was not chosen. So a program
//! moves alone only where the kernel might have put it as well, or to its home node if half of the
//! cores are idle. Otherwise it changes places with another. Threads of a program that is split
//! across several caches may go to any idle core, because the program loses more by the split than
//! by whatever starts in their place.

use super::memory::Memory;
use super::scene::{Arrangement, Scene};

/// How many threads run on each node and each cache in an arrangement, and how many CPUs these
/// have.
#[derive(Debug)]
pub struct Occupancy<'a> {
    scene: &'a Scene,
    memory: &'a Memory,
    at: &'a Arrangement,
    nodes: Vec<Crowd>,
    llcs: Vec<Crowd>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Crowd {
    threads: f64,
    cores: f64,
    cpus: f64,
}

impl Crowd {
    /// Threads per CPU.
    fn load(self) -> f64 {
        self.threads / self.cpus.max(1.0)
    }
}

impl<'a> Occupancy<'a> {
    /// Counts the threads of an arrangement.
    #[must_use]
    pub fn of(scene: &'a Scene, memory: &'a Memory, at: &'a Arrangement) -> Self {
        let mut nodes = vec![Crowd::default(); memory.nodes.len()];
        let mut llcs = vec![Crowd::default(); memory.machine.llcs().len()];
        for (place, cores) in memory.places.iter().zip(&memory.cores) {
            nodes[place.node].cpus += cores.cpus;
            nodes[place.node].cores += cores.cores;
            llcs[place.llc].cpus += cores.cpus;
        }
        for (unit, on) in scene.units.iter().zip(&at.domains) {
            let place = memory.places[*on];
            nodes[place.node].threads += unit.threads;
            llcs[place.llc].threads += unit.threads;
        }
        Self { scene, memory, at, nodes, llcs }
    }

    /// Whether the kernel might choose a domain if it started a unit anew: there are no more
    /// threads per CPU there than at the unit's own place without it.
    #[must_use]
    pub fn might_start(&self, unit: usize, to: usize) -> bool {
        let (here, there) = self.without(unit, to);
        there.load() <= here.load()
    }

    /// Whether a unit leaves a larger crowd for a smaller one: where it is, there are more threads
    /// than CPUs, and where it goes, there are with it no more threads per CPU than it leaves
    /// behind.
    #[must_use]
    pub fn evens(&self, unit: usize, to: usize) -> bool {
        let own = self.scene.units[unit].threads;
        let (here, there) = self.without(unit, to);
        here.threads + own > here.cpus && Crowd { threads: there.threads + own, ..there }.load() <= here.load()
    }

    /// Whether the kernel would move threads of a domain's node to an emptier node: one with an
    /// idle CPU and two threads fewer, or fewer in proportion if it has a different number of cores
    /// (`sibling_imbalance` in `kernel/sched/fair.c`). Two cases are left out: the kernel leaves
    /// two threads alone if next to nothing runs, and it evens out the caches of a node as well.
    #[must_use]
    pub fn is_exposed(&self, domain: usize) -> bool {
        let here = self.nodes[self.memory.places[domain].node];
        let pulls = |there: &Crowd| {
            let lacks = there.cores * here.threads - here.cores * there.threads;
            let both = here.cores + there.cores;
            let least = if (here.cores - there.cores).abs() < 0.5 { both } else { both / 2.0 };
            there.threads < there.cpus && lacks >= least
        };
        self.nodes.iter().any(pulls)
    }

    /// The node that a unit is on and the node of a domain or, if both are the same, the caches of
    /// the two; both without the unit.
    fn without(&self, unit: usize, to: usize) -> (Crowd, Crowd) {
        let [here, to] = [self.at.domains[unit], to].map(|domain| self.memory.places[domain]);
        let (crowds, here, to) =
            if here.node == to.node { (&self.llcs, here.llc, to.llc) } else { (&self.nodes, here.node, to.node) };
        let of = |at: usize| {
            let own = if at == here { self.scene.units[unit].threads } else { 0.0 };
            Crowd { threads: crowds[at].threads - own, ..crowds[at] }
        };
        (of(here), of(to))
    }

    /// Whether at least as many cores are idle as are busy: then whatever starts next has a core of
    /// its own, wherever programs were sent.
    #[must_use]
    pub fn is_roomy(&self) -> bool {
        let sum = |of: fn(&Crowd) -> f64| self.nodes.iter().map(of).sum::<f64>();
        sum(|node| node.threads) <= 0.5 * sum(|node| node.cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::kit::domains::Domains;
    use crate::test_kit::{observation, process, thread};

    /// By domain, whether program 1, on CPU 0, might start there, beside others on some CPUs.
    fn might(machine: &str, others: &[u32]) -> Vec<bool> {
        let cpus = std::iter::once(0).chain(others.iter().copied());
        let one = |(pid, cpu): (u32, u32)| process(pid, vec![thread(pid, cpu, 1.0)]);
        let seen = observation(machine, (1..).zip(cpus).map(one).collect());
        let domains = Domains::of(&seen.machine);
        let (scene, memory, _) = stage(&seen, 1, &Idle::default());
        let domain = |cpu| domains.seat(domains.seat_of(isobar_model::CpuId(cpu)).unwrap()).domain.0;
        let count = u32::try_from(domains.domains.len()).unwrap();
        let size = u32::try_from(domains.seats.len()).unwrap() / count;
        let crowds = Occupancy::of(&scene, &memory, &scene.base);
        (0..count).map(|at| crowds.might_start(0, domain(at * size))).collect()
    }

    /// Nodes come first: with two beside two threads it stays, with two beside one it might go.
    /// Then caches: the emptier one of its node, and any of a node with no more threads.
    #[test]
    fn a_program_goes_alone_only_where_the_kernel_might_have_put_it() {
        assert_eq!(might("node:2 core:4", &[1, 4, 5]), [true, false]);
        assert_eq!(might("node:2 core:4", &[1, 4]), [true, true]);
        assert_eq!(might("node:2 core:4", &[]), [true, true]);
        assert_eq!(might("node:2 llc:2 core:2", &[1, 2, 3, 4, 5]), [true, false, true, true]);
        assert_eq!(might("node:2 llc:2 core:2", &[1, 2, 4, 5, 6]), [true, true, false, false]);
    }

    /// From six threads on four CPUs one may go to four on four, not to five; from four none may.
    #[test]
    fn a_crowd_is_left_for_a_smaller_one() {
        let evens = |others: &[u32]| {
            let cpus = std::iter::once(0).chain(others.iter().copied());
            let one = |(pid, cpu): (u32, u32)| process(pid, vec![thread(pid, cpu, 1.0)]);
            let seen = observation("node:2 core:4", (1..).zip(cpus).map(one).collect());
            let (scene, memory, _) = stage(&seen, 1, &Idle::default());
            Occupancy::of(&scene, &memory, &scene.base).evens(0, 1)
        };
        assert!(evens(&[0, 1, 1, 2, 3, 4, 5, 6, 7]) && !evens(&[0, 1, 1, 2, 3, 4, 4, 5, 6, 7]));
        assert!(!evens(&[1, 2, 3]) && evens(&[0, 1, 2, 3]));
    }

    /// Three nodes of four cores with four, three and two threads: only the four are two more than
    /// on another node.
    #[test]
    fn a_node_is_exposed_where_another_has_two_threads_less() {
        let cpus = [0, 1, 2, 3, 4, 5, 6, 8, 9];
        let one = |(pid, cpu): (u32, &u32)| process(pid, vec![thread(pid, *cpu, 1.0)]);
        let seen = observation("node:3 core:4", (1..).zip(&cpus).map(one).collect());
        let (scene, memory, _) = stage(&seen, 1, &Idle::default());
        let crowds = Occupancy::of(&scene, &memory, &scene.base);
        assert_eq!([0, 1, 2].map(|domain| crowds.is_exposed(domain)), [true, false, false]);
    }

    /// Of eight cores, four may be busy; of four cores with two hardware threads each, two.
    #[test]
    fn a_machine_of_which_half_is_idle_is_roomy() {
        let is_roomy = |machine: &str, count: u32| {
            let running = (1..=count).map(|pid| process(pid, vec![thread(pid, pid - 1, 1.0)]));
            let seen = observation(machine, running.collect());
            let (scene, memory, _) = stage(&seen, 1, &Idle::default());
            Occupancy::of(&scene, &memory, &scene.base).is_roomy()
        };
        assert!(is_roomy("node:2 core:4", 4) && !is_roomy("node:2 core:4", 5));
        assert!(is_roomy("node:2 core:2 pu:2", 2) && !is_roomy("node:2 core:2 pu:2", 3));
    }
}
