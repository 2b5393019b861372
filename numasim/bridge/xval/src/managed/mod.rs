//! Mixes whose programs may be moved, under stock Linux and under policies. On both machines the
//! same programs begin on the same CPUs, with their memory on the same nodes, and the same policy
//! decides.
//!
//! ```text
//! order     the runs of the boots, each with what places its programs
//! simulate  the same run in the simulator
//! compare   both, side by side: slowdowns, where memory was, what moved, and what a policy gained
//! table     for people
//! ```
//!
//! Stock Linux has NUMA balancing on, and policies have it off, as in the tournament. A second of
//! the guest is a second of the simulator, so that a policy decides equally often. The simulator's
//! machine is faster by the scale of time, and its memory larger by the scale of caches. With 20
//! and 16, copying a program's pages takes four fifths of the time.

pub mod compare;
pub mod order;
pub mod simulate;
pub mod table;
