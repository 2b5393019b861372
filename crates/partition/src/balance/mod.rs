//! Divide&Content's contention balancing (Bilbao, Saez, Prieto-Matias: *Divide&Content: A Fair
//! OS-Level Resource Manager for Contention Balancing on NUMA Multicores*, TPDS 2023, section V.B
//! and algorithm 3): which threads of which program belong on which of two groups, so that both
//! carry the same load. Pure arithmetic on loads: it knows no thread by name, no clock and no way
//! masks, and it is the same for the static study and for the running policy.
//!
//! | paper | here |
//! |---|---|
//! | core group (local, remote) | [`Side`] 0 and 1 of a pair |
//! | bandwidth load `L_BW`, LLC load `L_LLC` | [`Program::bandwidth`], [`Program::llc`] |
//! | aggregated loads `AG_BW`, `AG_LLC` | [`Pressure`] |
//! | slot counter | the slots of a side less the threads that it was given |
//! | `low_bw_thr`, `bw_load_thr`, `llc_load_thr` | [`Limits`] |
//! | `compare_llc_load`, `compare_bw_load` (algorithm 3) | [`uneven`] |
//! | `balance_groups`, steps 1 to 4 | [`balance`] |

mod load;
mod pair;
mod place;

pub use load::{Capacity, LIGHT_WAYS, Limits, Pressure, Program, Settings, Side, llc_load, uneven};
pub use pair::balance;
pub use place::{Group, place, study_limits};
