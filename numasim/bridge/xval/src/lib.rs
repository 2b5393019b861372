//! Cross-validation: runs the same programs in numasim and in the contention simulator
//! (isobar-sim).
//!
//! ```text
//! file      which programs, at which ways, in which mixes
//! regime    what places the programs of a managed mix
//! alone     the runs in which a program is alone
//! job       programs as the guest starts them, and the one that counts the seconds
//! order     the runs of the boots; no run depends on another
//! seen      what the counters say of a program in a run
//! derive    solo runs -> a program of the simulator
//! known     programs as they are known alone, by both
//! twin      the machine of the simulator that a machine of numasim is a scaled copy of
//! simulate  a mix in the simulator
//! lru       how a cache would be shared by last use: a witness
//! probed    isobar's probed latencies beside what controllers and links counted
//! rows      mixes that stay where they are, side by side: difference, and the part of the model
//!           that it comes from
//! managed   mixes whose programs may be moved, side by side, under stock Linux and under policies
//! ranks     rank correlation
//! compare   all of it
//! ```
//!
//! All of it is pure; the command boots. Calibration uses only runs of a program alone, never a
//! mix.

#![forbid(unsafe_code)]

pub mod alone;
pub mod compare;
pub mod derive;
pub mod file;
pub mod job;
mod known;
pub mod lru;
pub mod managed;
pub mod order;
pub mod probed;
mod ranks;
pub mod reason;
pub mod regime;
pub mod rows;
pub mod seen;
pub mod simulate;
pub mod table;
pub mod twin;
