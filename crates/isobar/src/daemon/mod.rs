//! What makes the loop a daemon: a control socket, a log, and the protocol of the service manager.
//! It knows that protocol and the system. The loop itself, and what a request does to it, belong to
//! the verb.

mod client;
mod log;
mod peers;
mod places;
mod server;
mod service;
mod socket;
mod switchboard;

pub use client::{ask, find};
pub use log::Log;
pub use places::{config, recordings, runtime_folder, socket, state_file};
pub use server::Server;
pub use service::Service;
pub use switchboard::{Call, switchboard, waiting};
