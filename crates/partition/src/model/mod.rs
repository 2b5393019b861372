//! Static slowdown models: the interface that heuristics and searches use, and PBBCache's two
//! models.

mod pbbcache;
mod seam;

pub use pbbcache::{Bandwidth, PbbCache};
pub use seam::{Demand, Effect, Meaningless, Pressure, Queued, Separable, StaticModel, Waiting};
