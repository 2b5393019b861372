//! What policies share: memory domains, the alternating layout, pages that follow their threads,
//! ping-pong detection, requests that were refused, the nodes where a process runs.

pub mod domains;
pub mod flight;
pub mod group;
pub mod immovable;
pub mod layout;
pub mod load;
pub mod page_settings;
pub mod pages;
pub mod pairs;
pub mod ping_pong;
pub mod previous;
pub mod refused;
pub mod running;
pub mod words;
