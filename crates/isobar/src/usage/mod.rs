//! A report on page usage, for people and for programs, and its figures. It lays out what
//! [`isobar_pages::report`] found, and computes nothing of its own.

mod bars;
mod figures;
mod json;
mod text;

#[cfg(test)]
mod tests;

pub use figures::draw;
pub use json::document;
pub use text::lines;

use isobar_pages::PageProfile;
use isobar_pages::report::{Advice, Report};

/// A report and what it is of.
pub struct Shown<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// What was read.
    pub profile: &'a PageProfile,
    /// What it says.
    pub report: &'a Report,
    /// Which mapping suits it.
    pub advice: &'a Advice,
    /// What is missing of the file, a sentence each.
    pub remarks: &'a [String],
}
