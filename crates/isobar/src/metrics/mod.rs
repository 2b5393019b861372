//! Metrics of a run over HTTP, beside whatever else shows it. The loop hands over the families of
//! each epoch, which costs it the swap of a pointer under a lock; one thread answers clients, and
//! nothing that a client does or leaves undone reaches the loop.

mod exposer;
mod handed;
mod pace;
mod serve;

pub use exposer::{Exposer, Wanted};
pub use handed::Handed;
pub use pace::Paced;
