//! Mixes whose programs may be moved, under stock Linux and under policies: the same programs begin
//! on the same CPUs, with their memory on the same nodes, on both machines, and the same policy
//! decides on both.
//!
//! ```text
//! order     the runs of the boots, each with what places its programs
//! simulate  the same run in the simulator
//! compare   both, side by side: slowdowns, where memory was, what moved, and what a policy gained
//! table     for people
//! ```
//!
//! Stock Linux has NUMA balancing on, policies have it off, as in the tournament. A second of the
//! guest is a second of the simulator, so that a policy decides as often. There the machine is as
//! many times faster as time is scaled, and memory as many times larger as caches are: with 20 and
//! 16, a program's pages take four fifths of the time to be copied.

pub mod compare;
pub mod order;
pub mod simulate;
pub mod table;
