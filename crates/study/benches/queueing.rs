//! How long exact optima of the queueing model take: eight of the simulator's programs on one LLC,
//! and in two groups, with one controller each or one for both.

#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use isobar_model::profile::{Profile, Row};
use isobar_optima::{Objective, Options, optimal};
use isobar_study::Queueing;
use std::hint::black_box;

const EIGHT: [&str; 8] = ["mcf", "lbm", "povray", "milc", "soplex", "omnetpp", "gcc", "namd"];

fn model(uma: bool) -> Queueing {
    let library = isobar_sim::program::shipped().unwrap();
    let machine = isobar_sim::machine::find("rome-ccx-2x4").unwrap();
    let programs = EIGHT.map(|name| library.find("bench", "program", name).unwrap());
    // The queueing model computes with programs and takes only the names from their tables.
    let row = Row { ipc: 1.0, ..Row::default() };
    let profiles = EIGHT.map(|name| Profile::new(name, vec![row; 16]).unwrap());
    Queueing::new(&machine, &programs, profiles.to_vec(), 16, None).uma(uma)
}

fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queueing");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for (name, uma, groups) in
        [("on one LLC", true, 1), ("in 2 groups, one controller", true, 2), ("in 2 groups", false, 2)]
    {
        let model = model(uma);
        for objective in Objective::ALL {
            let options = Options { groups, cores: Some(8 / groups), ..Options::new(objective) };
            let name = format!("optimal, 8 programs {name}, {}", objective.name());
            group.bench_function(&name, |bench| bench.iter(|| optimal(black_box(&model), &options).unwrap()));
        }
    }
    group.finish();
}

criterion_group!(benches, all);
criterion_main!(benches);
