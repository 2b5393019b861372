//! The machines that the loop can run on: this one, and a simulated one. What is set and shown of
//! each is joined here.

pub mod adjust;
pub mod launch;
pub mod linux;
pub mod paced;
pub mod probe;
pub mod simulated;
pub mod watched;
