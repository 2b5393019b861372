//! Static slowdown models: the seam that heuristics and searches ask, and PBBCache's two models.

mod pbbcache;
mod seam;

pub use pbbcache::{Bandwidth, PbbCache};
pub use seam::{Demand, Effect, Meaningless, Pressure, Queued, Separable, StaticModel, Waiting};
