//! The machines that the loop can run on: this one, and simulated ones. Their settings and what is
//! shown of them are joined here.

pub mod adjust;
pub mod launch;
pub mod linux;
pub mod paced;
pub mod probe;
pub mod simulated;
pub mod watched;
