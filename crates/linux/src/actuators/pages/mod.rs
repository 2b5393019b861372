//! Page migration: which pages of a process move from node to node, in batches of limited size, and
//! what became of each.
//!
//! This module knows `move_pages(2)` and the text of `/proc/PID/maps` and `/proc/PID/numa_maps`.
//! Only pages that a single process maps are moved (`MPOL_MF_MOVE`): a shared page has other users,
//! which did not ask for the move. Pages are base pages. A transparent huge page moves as a whole
//! with the first of its pages that is requested; its pages that were not requested are not
//! counted. Memory with a policy of its owner's choice stays (see `mapped`).
//!
//! Pages are copied by a thread beside the loop ([`PagesBeside`]; DINO, section 4.2, has a daemon
//! for it).
//!
//! The selection of pages follows DINO (section 4.1; K = 4096 by its section 5.2):
//!
//! - [`PageSelection::AroundSamples`] with sampled addresses: [`around()`] each of them, in the
//!   resident address space.
//! - [`PageSelection::Accessed`]: pages that a sensor saw accessed lately, the hottest first, and
//!   no others (CAMM paper, section VI);
//! - without samples (no address sampler on this machine), and for [`PageSelection::ResidentSet`]:
//!   the resident pages on the node, largest anonymous mappings first, by a [`Cursor`] that goes on
//!   where the last call ended, so that successive epochs cover everything.
//!
//! [`PageSelection::AroundSamples`]: isobar_model::PageSelection::AroundSamples
//! [`PageSelection::Accessed`]: isobar_model::PageSelection::Accessed
//! [`PageSelection::ResidentSet`]: isobar_model::PageSelection::ResidentSet

pub mod around;
pub mod beside;
pub mod budget;
mod mapped;
mod migrate;
mod migration;
pub mod place;
mod process;
mod resident;
mod select;
mod tally;

pub use crate::kernel::maps as mappings;
pub use around::{PageRange, around};
pub use beside::{PagesBeside, Request};
pub use migrate::PageMover;
pub use migration::{Migration, PageOptions};
pub use select::Cursor;
