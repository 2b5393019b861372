//! What a run tells, for people and for programs. It knows the loop's events; it decides nothing and touches no machine.

mod clock;
mod explain;
mod human;
mod json;
mod kind;
mod lines;
mod live;
mod missing;
mod notes;
mod profiles;
mod rate;
mod remarks;
mod sums;
mod table;
mod ways;
mod words;

pub use clock::WallClock;
pub use explain::Explain;
pub use human::{Human, Volume};
pub use json::Json;
pub use live::Size;
pub use profiles::Profiles;
