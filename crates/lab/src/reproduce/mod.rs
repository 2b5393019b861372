//! The papers' claims, each run again on the simulated machine: the paper's figure, ours, and
//! whether sign and size agree. A claim that does not come out stays in the table as such.
//!
//! One folder a paper; each gives its [`Claim`]s and the figures of the paper that can be drawn.
//! Nothing here is fitted: machines and programs are calibrated on what the papers print about
//! machines and solo runs.

mod camm;
mod claim;
mod dc;
mod dino;
mod nmass;
mod options;
mod pages;
mod table;

pub use camm::camm;
pub use claim::{Claim, Figure, Reproduction, Verdict};
pub use dc::dc;
pub use dino::dino;
pub use nmass::nmass;
pub use options::Options;
pub use pages::pages;
pub use table::claims_table;
