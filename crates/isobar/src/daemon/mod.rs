//! What makes a daemon of the loop: its control socket, its log, its service manager. It knows the
//! protocol and the system; the loop itself, and what a request does to it, are the verb's.

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
pub use switchboard::{Call, switchboard};
