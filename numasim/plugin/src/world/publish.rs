//! The guest's shared page: counters are written to it, associations and way masks are read from
//! it. This file maps the figures of the machine to those of the page; it does not know the page's
//! layout.

use crate::error;
use crate::world::{World, whole};
use numasim_model::{Ran, Spec, Threads};
use numasim_page::{
    ClassFigures, CpuFigures, GuestSettings, Header, Host, LinkFigures, LlcFigures, Mapping, NodeFigures, Place,
    Refusal, Snapshot, Switches, ThreadFigures,
};
use std::path::Path;

/// The page, and the state that is kept between two writings.
pub struct Page {
    host: Host<Mapping>,
    /// Class of service of each CPU, and the class that it has if its thread has none.
    classes: Vec<usize>,
    own: Vec<usize>,
    /// Bytes that each CPU had moved at the last writing: all, and those of its own node's memory.
    moved: Vec<(u64, u64)>,
    /// The same summed by LLC and class of service.
    traffic: Vec<Vec<(u64, u64)>>,
}

impl Page {
    /// Creates a page in a file and writes the description of the machine to it.
    ///
    /// # Errors
    /// The file cannot be mapped, or the machine is too large for the page; as one line.
    pub fn open(path: &Path, spec: &Spec, window: u64) -> Result<Self, String> {
        let mapping = Mapping::create(path).map_err(|problem| problem.to_string())?;
        let header = header(spec, window);
        let (cpus, llcs, classes) = (header.cpus.len(), header.llcs.len(), header.classes);
        let host = Host::initialise(mapping, header).map_err(|problem| problem.to_string())?;
        Ok(Self {
            host,
            classes: vec![0; cpus],
            own: vec![0; cpus],
            moved: vec![(0, 0); cpus],
            traffic: vec![vec![(0, 0); classes]; llcs],
        })
    }

    /// Writes the present counters.
    pub fn write(&mut self, world: &World) {
        self.count(world);
        let snapshot = snapshot(world, self);
        self.host.publish(&snapshot);
        self.host.publish_threads(&thread_figures(world));
    }

    /// Counts the traffic since the last writing for the classes that the CPUs have had.
    fn count(&mut self, world: &World) {
        (0..self.classes.len()).for_each(|cpu| self.count_cpu(world, cpu));
    }

    fn count_cpu(&mut self, world: &World, cpu: usize) {
        let place = self.host.header().cpus[cpu];
        // Write-backs are not attributed to a class, as on hardware (Intel RDT counts what a class
        // fetches).
        let now = (world.machine.cpu_counters(cpu).bytes_read, world.machine.bytes_read(cpu, place.node));
        let before = std::mem::replace(&mut self.moved[cpu], now);
        let sum = &mut self.traffic[place.llc][self.classes[cpu]];
        sum.0 += now.0.saturating_sub(before.0);
        sum.1 += now.1.saturating_sub(before.1);
    }

    /// Gives the CPU the class of the thread that it runs; traffic up to now counts for its
    /// previous class.
    pub fn follows(&mut self, world: &mut World, cpu: usize) {
        let class = world.class_on(cpu).unwrap_or(self.own[cpu]);
        if class != self.classes[cpu] {
            self.count_cpu(world, cpu);
            match world.machine.set_class(cpu, class) {
                Ok(()) => self.classes[cpu] = class,
                Err(problem) => error::notify(&problem.to_string()),
            }
        }
    }

    /// Resets what is kept here after counters have been set to zero.
    pub fn zero(&mut self) {
        self.moved.fill((0, 0));
        self.traffic.iter_mut().for_each(|classes| classes.fill((0, 0)));
    }

    /// How the guest's kernel switches threads, if it has said so.
    pub fn switches(&self) -> Option<Switches> {
        self.host.switches()
    }

    /// The changes that the guest wants.
    pub fn wishes(&mut self) -> Option<GuestSettings> {
        self.host.take_wishes()
    }

    /// Applies the changes that the guest wants.
    pub fn apply(&mut self, world: &mut World, wishes: &GuestSettings) {
        match set_masks(world, wishes) {
            Ok(()) => {
                self.own.clone_from(&wishes.classes);
                world.set_thread_classes(&wishes.threads);
                (0..self.own.len()).for_each(|cpu| self.follows(world, cpu));
                self.host.applied(wishes.generation);
            }
            Err(problem) => {
                error::notify(&format!(
                    "the guest's wishes of generation {} are refused: {problem}",
                    wishes.generation
                ));
                self.host.refuse(wishes.generation, Refusal::Other);
            }
        }
    }
}

fn set_masks(world: &mut World, wishes: &GuestSettings) -> Result<(), String> {
    let clos = |llc: usize| world.spec.llc[llc].clos as usize;
    let limits: Vec<_> = (0..world.spec.llc.len()).map(clos).collect();
    for (llc, masks) in wishes.masks.iter().enumerate() {
        for (class, mask) in masks.iter().enumerate().take(limits[llc]) {
            world.machine.set_mask(llc, class, *mask).map_err(|problem| problem.to_string())?;
        }
    }
    Ok(())
}

fn header(spec: &Spec, window: u64) -> Header {
    let place = |cpu| Place { node: spec.node_of(cpu).unwrap_or(0), llc: spec.llc_of(cpu).unwrap_or(0) };
    Header {
        classes: spec.llc.iter().map(|llc| llc.clos as usize).min().unwrap_or(1).min(16),
        clock_khz: whole(spec.clock_mhz * 1e3),
        window_ns: window / 1000,
        line_bytes: 64,
        delays: spec.delays,
        llcs: spec.llc.iter().map(|llc| LlcFigures { ways: llc.ways, bytes: u64::from(llc.size_kib) * 1024 }).collect(),
        nodes: spec.node.iter().map(|node| whole(node.mb_per_s * 1e6)).collect(),
        cpus: (0..spec.cpus()).map(place).collect(),
    }
}

fn snapshot(world: &World, page: &Page) -> Snapshot {
    let cpus: Vec<_> = (0..world.ran.len()).map(|cpu| cpu_figures(world, cpu)).collect();
    let nodes = world.machine.node_counters().enumerate().map(|(node, carried)| {
        let from = |local: bool| {
            let here = page.host.header().cpus.iter().zip(&cpus).filter(|(place, _)| (place.node == node) == local);
            here.map(|(_, figures)| figures.misses_by_node.get(node).copied().unwrap_or(0)).sum::<u64>()
        };
        let (from_local, from_remote) = (from(true), from(false));
        NodeFigures {
            bytes_read: carried.bytes_read,
            bytes_written: carried.bytes - carried.bytes_read,
            busy_ps: carried.busy_ps,
            delay_ps: carried.delay_ps,
            bytes_per_second: page.host.header().nodes[node],
            from_local,
            from_remote,
            waited_ps: carried.waited_ps,
        }
    });
    let nodes = nodes.collect();
    let links = world.machine.link_counters().map(|link| {
        let figures = LinkFigures {
            bytes: link.bytes,
            busy_ps: link.busy_ps,
            delay_ps: link.delay_ps,
            waited_ps: link.waited_ps,
        };
        ((link.from as usize, link.to as usize), figures)
    });
    Snapshot {
        time_ns: world.windows.base() / 1000,
        modelling: world.modelling,
        cpus,
        nodes,
        links: links.collect(),
        classes: class_figures(world, page),
    }
}

fn class_figures(world: &World, page: &Page) -> Vec<Vec<ClassFigures>> {
    let figures = |llc: usize, class: usize, (total_bytes, local_bytes): (u64, u64)| ClassFigures {
        occupancy: world.machine.occupancy(llc, class).unwrap_or(0) * 64,
        total_bytes,
        local_bytes,
    };
    let of = |(llc, classes): (usize, &Vec<(u64, u64)>)| {
        classes.iter().enumerate().map(|(class, sum)| figures(llc, class, *sum)).collect()
    };
    page.traffic.iter().enumerate().map(of).collect()
}

fn thread_figures(world: &World) -> Vec<ThreadFigures> {
    let figures = |ran: &Ran| ThreadFigures {
        tid: u64::from(ran.thread),
        name: ran.name,
        instructions: ran.counts.instructions,
        cycles: ran.counts.ran_ps / world.cycle,
        llc_references: ran.counts.references,
        llc_misses: ran.counts.misses,
        bytes_read: ran.counts.bytes_read,
        bytes_written: ran.counts.bytes_written,
        stall_ps: ran.counts.stall_ps,
        kernel_instructions: ran.counts.kernel_instructions,
    };
    world.threads.iter().flat_map(Threads::all).map(figures).collect()
}

fn cpu_figures(world: &World, cpu: usize) -> CpuFigures {
    let counters = world.machine.cpu_counters(cpu);
    let busy_ps = world.ran[cpu];
    let executed = world.instructions[cpu].get();
    CpuFigures {
        instructions: executed.saturating_sub(world.apart.of(cpu, executed)),
        cycles: busy_ps / world.cycle,
        llc_references: counters.private_misses,
        llc_misses: counters.llc_misses,
        misses_by_node: counters.misses_by_node,
        bytes_read: counters.bytes_read,
        bytes_written: counters.bytes_written,
        stall_ps: counters.stall_ps,
        busy_ps,
        covered: counters.prefetched,
        accesses: counters.accesses + world.again[cpu],
        hitm_local: counters.hitm_local,
        hitm_remote: counters.hitm_remote,
    }
}
