//! Runs the papers' claims again on the simulated machine and reports the paper's figure, ours, and
//! whether sign and size agree. A claim that does not come out stays in the table and is marked.
//!
//! There is one folder per paper. Each returns its [`Claim`]s and those figures of the paper that
//! can be drawn. Nothing here is fitted: machines and programs are calibrated on what the papers
//! print about machines and solo runs.

mod answers;
mod camm;
mod claim;
mod dc;
mod dino;
mod estimate;
mod nmass;
mod options;
mod pages;
mod part;
mod sensitivity;
mod table;

pub use answers::sensitivity_table;
pub use camm::camm;
pub use claim::{Claim, Figure, Reproduction, Verdict};
pub use dc::DC;
pub use dino::DINO;
pub use estimate::{KINDS, Kind, Varied};
pub use nmass::NMASS;
pub use options::Options;
pub use pages::pages;
pub use part::{Paper, Part, Progress};
pub use sensitivity::{Answer, ClaimState, Ends, Estimated, Sensitivity, Tested, sensitivity};
pub use table::claims_table;
