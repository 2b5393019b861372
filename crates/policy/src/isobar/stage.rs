//! Builds the scene of an observation in one line, for the tests of this folder.

use super::config::Config;
use super::idle::Idle;
use super::memory::Memory;
use super::part;
use super::programs::Programs;
use super::scene::Scene;
use crate::kit::domains::Domains;
use isobar_model::Observation;

/// The scene, with default settings and every way open to all, after some epochs with the same
/// readings; `idle` says which cores are free.
pub fn stage(seen: &Observation, epochs: usize, idle: &Idle) -> (Scene, Memory, Programs) {
    let domains = Domains::of(&seen.machine);
    let memory = Memory::of(seen, &domains).unwrap();
    let mut programs = Programs::default();
    (0..epochs).for_each(|_| programs.read(seen, &domains, &memory, part::all));
    let scene = Scene::of(seen, &programs, &memory, &domains, &Config::default(), idle, part::all);
    (scene, memory, programs)
}
