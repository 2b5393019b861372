//! Serves the metrics of a run over HTTP, beside whatever else shows the run. The loop hands over
//! the metric families of each epoch, which costs it one pointer swap under a lock. One thread
//! answers clients, and nothing that a client does or fails to do reaches the loop.

mod exposer;
mod latest;
mod pace;
mod serve;

pub use exposer::{Exposer, Wanted};
pub use latest::LatestMetrics;
pub use pace::Paced;
