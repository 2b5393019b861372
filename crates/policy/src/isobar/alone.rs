//! How much slower a program is than alone, by the equations: through others, and through its own
//! remote pages.

use super::part::Part;
use super::predict::Predictor;
use super::scene::{Arrangement, Scene};

/// By how many times a program is slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    /// Through others: 1.4 = it would take 1/1.4 of the time without them.
    pub contention: f64,
    /// Through its own remote pages; `None` for a program that spans nodes.
    pub distance: Option<f64>,
}

impl Slowdown {
    /// Through both.
    #[must_use]
    pub fn whole(&self) -> f64 {
        self.contention * self.distance.unwrap_or(1.0)
    }
}

/// As it is, with all ways of each cache open to all: alone a program has them.
#[must_use]
pub fn open(scene: &Scene) -> Arrangement {
    Arrangement { parts: vec![Part::ALL; scene.units.len()], ..scene.base.clone() }
}

/// The slowdown of a program, by position, against it alone in an arrangement that is
/// [open](open()), and is so again afterwards; `now` are the speeds of all as they are. `None` where
/// the equations have no answer.
#[must_use]
pub fn slowdown(predictor: &mut Predictor<'_>, open: &mut Arrangement, now: &[f64], at: usize) -> Option<Slowdown> {
    let (scene, memory) = (predictor.scene(), predictor.memory());
    let alone = predictor.speeds_among(open, |program| program == at)?[at];
    let distance = scene.traits[at].alone.and_then(|domain| {
        let node = memory.places.get(domain)?.node;
        let own = std::mem::replace(&mut open.weights[at], memory.only(node));
        let speeds = predictor.speeds_among(open, |program| program == at);
        open.weights[at] = own;
        Some(speeds?[at] / alone)
    });
    Some(Slowdown { contention: (alone / now[at]).max(1.0), distance: distance.map(|one| one.max(1.0)) })
}
