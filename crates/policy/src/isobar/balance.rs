//! Where the stock scheduler would put a program. It starts programs where fewest threads run, node
//! before cache, and knows nothing of memory. One that is sent where more threads run than it
//! leaves behind opens a seat that the kernel gives to whatever starts next: that is an exchange
//! with a program that no one chose. So a program goes alone only where the kernel might have
//! put it as well; beyond that, it changes places.

use super::memory::Memory;
use super::scene::{Arrangement, Scene};
use super::step::domain_of;

/// Whether the kernel, asked anew, might start a program on another domain than its own: there are
/// no more threads for each CPU than its own place would have without it.
#[must_use]
pub fn might_start(scene: &Scene, memory: &Memory, at: &Arrangement, program: usize, to: usize) -> bool {
    let here = domain_of(scene, at, program);
    let place = |domain: usize| memory.places[domain];
    let across = place(here).node != place(to).node;
    let group = |domain: usize| if across { place(domain).node } else { place(domain).llc };
    let load = |wanted: usize| {
        let inside = |domain: &usize| group(*domain) == group(wanted);
        let others = scene.units.iter().zip(&at.domains).filter(|(unit, on)| unit.program != program && inside(on));
        let threads: f64 = others.map(|(unit, _)| unit.threads).sum();
        let cpus: f64 = (0..memory.places.len()).filter(inside).map(|domain| memory.cpus[domain]).sum();
        threads / cpus.max(1.0)
    };
    load(to) <= load(here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::config::Config;
    use crate::isobar::idle::Idle;
    use crate::isobar::programs::Programs;
    use crate::kit::domains::Domains;
    use crate::test_kit::{observation, process, thread};

    /// Whether program 1, on CPU 0, might start on each domain, beside others on some CPUs.
    fn might(machine: &str, others: &[u32]) -> Vec<bool> {
        let cpus = std::iter::once(0).chain(others.iter().copied());
        let one = |(pid, cpu): (u32, u32)| process(pid, vec![thread(pid, cpu, 1.0)]);
        let seen = observation(machine, (1..).zip(cpus).map(one).collect());
        let domains = Domains::of(&seen.machine);
        let memory = Memory::of(&seen, &domains).unwrap();
        let mut programs = Programs::default();
        programs.read(&seen, &domains, &memory);
        let every = |_, _| u64::MAX;
        let scene = Scene::of(&seen, &programs, &memory, &domains, &Config::default(), &Idle::default(), every);
        let domain = |cpu| domains.seat(domains.seat_of(isobar_model::CpuId(cpu)).unwrap()).domain.0;
        let count = u32::try_from(domains.domains.len()).unwrap();
        let size = u32::try_from(domains.seats.len()).unwrap() / count;
        (0..count).map(|at| might_start(&scene, &memory, &scene.base, 0, domain(at * size))).collect()
    }

    /// Nodes first: with two beside two it stays, with two beside one it might go. Then caches: the
    /// emptier of its node, and any of a node with no more threads.
    #[test]
    fn a_program_goes_alone_only_where_the_kernel_might_have_put_it() {
        assert_eq!(might("node:2 core:4", &[1, 4, 5]), [true, false]);
        assert_eq!(might("node:2 core:4", &[1, 4]), [true, true]);
        assert_eq!(might("node:2 core:4", &[]), [true, true]);
        assert_eq!(might("node:2 llc:2 core:2", &[1, 2, 3, 4, 5]), [true, false, true, true]);
        assert_eq!(might("node:2 llc:2 core:2", &[1, 2, 4, 5, 6]), [true, true, false, false]);
    }
}
