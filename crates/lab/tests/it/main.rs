//! Policies over whole runs on the simulated machine.

#![allow(clippy::unwrap_used)]

mod drawn;
mod examples;
mod first_touch;
mod misjudged;
mod misled;
mod oscillation;
mod shares;
mod stress;
mod watched;
mod ways;
