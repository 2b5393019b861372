//! The loop that drives every machine, and what it needs: which threads are managed, the settings,
//! and policies by name.
//!
//! [`Loop`] connects a [`Machine`](isobar_model::Machine) and a [`Policy`](isobar_model::Policy).
//! It runs to its end with an [`Observer`], or one epoch at a time with [`Loop::step`]. This crate
//! knows neither Linux nor the simulator. It reads no file and no clock (file contents come through
//! a function of its caller), and prints nothing.
//!
//! ```
//! use isobar_runtime::{Limits, Loop, policies, settings::Config};
//! use isobar_sim::{SimMachine, Workload};
//!
//! let workload = "machine = \"nehalem-2x4\"\n[[app]]\nprogram = \"soplex\"\ncount = 4";
//! let machine = SimMachine::new(&Workload::from_toml("workload.toml", workload)?, 1);
//! let no_file = |_: &std::path::Path| unreachable!("no setting names a file");
//! let policy = policies::build("dino", &Config::default(), &no_file)?;
//! let limits = Limits { epochs: Some(2), ..Limits::every(machine.epoch()) };
//! let mut run = Loop::new(machine, policy, limits);
//! while let Some(epoch) = run.step()? {
//!     println!("epoch {}: {} actions", epoch.number, epoch.plan.actions.len());
//! }
//! assert_eq!(run.finish()?.epochs, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
pub mod missing;
pub mod policies;
mod run;
pub mod selection;
pub mod settings;

pub use isobar_policy::isobar::advise;

pub use error::{BoxError, RunError, in_full};
#[cfg(any(test, feature = "fake"))]
pub use run::fake;
pub use run::{
    Applied, Commander, Epoch, Limits, Loop, NotUndone, Observer, Refusals, Repeated, Start, Surroundings, Tally,
    Undone, decide, percent_of_one_cpu,
};
