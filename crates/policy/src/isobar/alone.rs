//! How much slower a program is than alone, by the equations of the contention model: because of
//! other programs, and because of its own remote pages.

use super::part::Part;
use super::predict::Predictor;
use super::scene::{Arrangement, Scene};

/// The factors by which a program is slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    /// Because of other programs: 1.4 = it would take 1/1.4 of the time without them.
    pub contention: f64,
    /// Because of its own remote pages; `None` for a program that spans nodes.
    pub distance: Option<f64>,
}

impl Slowdown {
    /// Because of both.
    #[must_use]
    pub fn whole(&self) -> f64 {
        self.contention * self.distance.unwrap_or(1.0)
    }
}

/// The present arrangement, with all ways of each cache open to all, as a program would have them
/// alone.
#[must_use]
pub fn open(scene: &Scene) -> Arrangement {
    Arrangement { parts: vec![Part::ALL; scene.units.len()], ..scene.base.clone() }
}

/// The slowdown of a program, by position, compared with running alone in an arrangement that is
/// [open](open()). The arrangement is the same again afterwards. `now` is the present speed of all
/// programs. `None` if the equations have no solution.
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
