//! Compares the machines with what is published about their controllers and links: how much they
//! sustain, and which load the programs put on them.

use crate::machine::{MachineSpec, find};
use crate::program::{Library, Program, shipped};
use isobar_contention::{Answer, Budget, Demand, Place, Question, solve};

const MIB: f64 = 1_048_576.0;
const LINE: f64 = 64.0;

/// A thread of a program on one node, with its memory on one node.
fn thread(machine: &MachineSpec, program: &Program, node: usize, memory: usize, share: f64) -> Demand {
    Demand {
        share,
        place: Place { node, llc: node },
        mask: u64::MAX,
        compute: program.base_cpi / machine.hertz,
        curve: program.mpki.clone(),
        factor: 1.0,
        mlp: program.mlp,
        prefetch: program.prefetch,
        write_back: program.write_back,
        footprint: program.footprint_mib * MIB,
        reach: 1.0,
        weights: (0..machine.memory.nodes()).map(|at| if at == memory { 1.0 } else { 0.0 }).collect(),
        delay: 0.0,
        held: 0.0,
    }
}

fn run(machine: &MachineSpec, threads: &[Demand]) -> Answer {
    solve(&Question { machine: &machine.memory, threads, copy: None }, Budget::default()).unwrap()
}

/// Bytes per second that all threads read, and that they read and write.
fn bytes(threads: &[Demand], answer: &Answer) -> (f64, f64) {
    let missed = |i: usize| LINE * answer.rates[i] * answer.misses[i];
    let read = |(i, one): (usize, &Demand)| missed(i) * (1.0 + one.prefetch);
    let moved = |(i, one): (usize, &Demand)| read((i, one)) * (1.0 + one.write_back);
    (threads.iter().enumerate().map(read).sum(), threads.iter().enumerate().map(moved).sum())
}

/// A triad, as fast as cores can request: two lines are read, and one is written that was read
/// before.
fn stream(machine: &MachineSpec, node: usize, memory: usize) -> Demand {
    let lbm = shipped().unwrap().find("", "", "lbm").unwrap();
    let triad = Program { base_cpi: 0.3, mlp: 10.0, prefetch: 1.0, write_back: 1.0 / 3.0, ..Program::clone(&lbm) };
    Demand { factor: 3.0, ..thread(machine, &triad, node, memory, 1.0) }
}

/// Published: 32 GB/s for two sockets with DDR3-1066 (IBM, product guide of the BladeCenter HS22V).
/// Four threads on either node reach it within a tenth. STREAM counts three of the four lines that
/// a triad moves.
#[test]
fn stream_on_nehalem_reaches_what_is_published() {
    let machine = find("nehalem-2x4").unwrap();
    let threads: Vec<_> = (0..8).map(|i| stream(&machine, i % 2, i % 2)).collect();
    let (_, moved) = bytes(&threads, &run(&machine, &threads));
    assert!((0.75 * moved / 32e9 - 1.0).abs() < 0.1, "{moved}");
}

/// Published: about 34 GB/s of reads from the other socket over two UPI links. Reached within 5 %.
#[test]
fn reads_over_the_links_of_skylake_reach_what_is_published() {
    let machine = find("skylake-2x20").unwrap();
    let threads: Vec<_> = (0..20).map(|_| Demand { write_back: 0.0, ..stream(&machine, 0, 1) }).collect();
    let (read, _) = bytes(&threads, &run(&machine, &threads));
    assert!((read / 34e9 - 1.0).abs() < 0.05, "{read}");
}

/// The fraction of Nehalem's sustained link bandwidth that clones of a program use from the other
/// side, with their data and a snoop of 8 bytes for each line. There are enough clones for their
/// solo misses to sum to `mpki`; the last clone has a fraction of its core.
fn link_use(library: &Library, name: &str, mpki: f64) -> f64 {
    let machine = find("nehalem-2x4").unwrap();
    let program = library.find("", "", name).unwrap();
    let clones = mpki / (1000.0 * program.mpki.misses(8.0 * MIB));
    let shares = (0..8).map(|i| (clones - f64::from(i)).min(1.0)).filter(|share| *share > 1e-6);
    let threads: Vec<_> = shares.map(|share| thread(&machine, &program, 1, 0, share)).collect();
    bytes(&threads, &run(&machine, &threads)).0 * (1.0 + 8.0 / LINE) / machine.links()[0].bandwidth.0
}

/// N-MASS, 3.4: "a cache pressure of around 60 MPKI corresponds to the saturation limit of the
/// cross-chip interconnect", found with STREAM and SPEC CPU2006. The link counts as saturated if
/// less than a fifth of what it sustains is left. Programs that stream reach that at 60 and are
/// well below at 30; the others, which compute more between misses, use about half of the link.
#[test]
fn sixty_mpki_saturate_the_link_of_nehalem() {
    let library = shipped().unwrap();
    for name in ["lbm", "milc", "libquantum"] {
        let (sixty, thirty) = (link_use(&library, name, 60.0), link_use(&library, name, 30.0));
        assert!(sixty > 0.8 && thirty < 0.72, "{name} {sixty} {thirty}");
    }
    let all = ["lbm", "milc", "libquantum", "soplex", "mcf", "omnetpp"].map(|name| link_use(&library, name, 60.0));
    assert!(all.iter().all(|part| *part > 0.4), "{all:?}");
    assert!(all.iter().sum::<f64>() / 6.0 > 0.65, "{all:?}");
}

/// N-MASS, 4.1: "some memory-bound programs saturate the IMC even in solo mode". Not literally: the
/// lines that a core has in flight bound it (ten lines of 64 bytes in 50 ns would be 12.8 GB/s,
/// three fifths of the controller, if the core did nothing else). The largest program uses three
/// eighths with the ratios as they stand and six tenths at their high end; a quarter without
/// prefetched lines.
#[test]
fn one_program_draws_much_of_a_controller_of_nehalem() {
    use crate::estimate::{End, Estimate};
    let (library, machine) = (shipped().unwrap(), find("nehalem-2x4").unwrap());
    let program = library.find("", "", "lbm").unwrap();
    let part = |program: &Program| {
        let threads = [thread(&machine, program, 0, 0, 1.0)];
        bytes(&threads, &run(&machine, &threads)).1 / machine.topology.nodes()[0].max_bandwidth.unwrap().0
    };
    let (value, high) = (part(&program), part(&program.assuming(Estimate::Prefetch, End::High)));
    assert!(value > 0.36 && high > 0.58 && high < 1.0, "{value} {high}");
}

/// Probes of Barcelona: all four nodes read their own memory as fast as they can. The links carry
/// only probes, and yet are well used (HP on DL585 servers: they can severely load the links).
#[test]
fn local_misses_of_barcelona_load_the_links() {
    let machine = find("barcelona-4x4").unwrap();
    let threads: Vec<_> = (0..16).map(|i| stream(&machine, i % 4, i % 4)).collect();
    let answer = run(&machine, &threads);
    let lines = bytes(&threads, &answer).0 / LINE;
    // For each line there are three probes of 8 bytes, and answers of 4 bytes over four hops; eight
    // directions.
    let mean = lines * (3.0 * 8.0 + 4.0 * 4.0) / 8.0 / machine.links()[0].bandwidth.0;
    assert!((0.4..0.9).contains(&mean), "{mean}");
}
