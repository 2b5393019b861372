//! What a run tells, for people and for programs. It knows the loop's events; it decides nothing and touches no machine.

mod explain;
mod human;
mod json;
mod profiles;
mod remarks;
mod table;
mod ways;
mod words;

pub use explain::Explain;
pub use human::Human;
pub use json::Json;
pub use profiles::Profiles;
