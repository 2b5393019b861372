//! Figures as SVG: grouped [`bars`] and [`boxes`], [`curves`] and [`scatter`] plots, 800 by 500,
//! the same bytes for the same numbers. It knows how a figure is laid out; only its callers know
//! what the numbers mean. Text is escaped and control characters are shown as `?`, so that a
//! program's name cannot break a figure; values that are not finite are left out.

#![forbid(unsafe_code)]

mod bars;
mod boxes;
mod categories;
mod curves;
mod frame;
mod scatter;

pub use bars::bars;
pub use boxes::{Boxes, boxes};
pub use curves::curves;
pub use scatter::{Points, scatter};

#[cfg(test)]
mod tests;
