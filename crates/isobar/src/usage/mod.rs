//! Presents a report on page usage to people and to programs, with its figures. It lays out what
//! [`isobar_pages::report`] found, and computes nothing itself.

mod bars;
mod figures;
mod text;

#[cfg(test)]
mod tests;

pub use figures::draw;
pub use isobar_pages::report::{ReportDocument, document};
pub use text::lines;
