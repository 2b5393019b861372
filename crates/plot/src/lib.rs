//! Figures as SVG: grouped [`bars`], stacked bars in [`parts`] and [`boxes`], [`curves`] and
//! [`scatter`] plots, [`panels`] over time and [`heat`] maps. A figure is 800 by 500 pixels, and
//! the same numbers give the same bytes. The crate knows how a figure is laid out; only its callers
//! know what the numbers mean. Text is escaped and control characters are shown as `?`, so that a
//! program's name cannot break a figure. Values that are not finite are left out.

#![forbid(unsafe_code)]

mod bars;
mod boxes;
mod categories;
mod curves;
mod frame;
mod heat;
mod panels;
mod parts;
mod scatter;

pub use bars::bars;
pub use boxes::{Boxes, boxes};
pub use curves::curves;
pub use heat::{Grid, heat};
pub use panels::{Panel, panels};
pub use parts::parts;
pub use scatter::{Points, scatter};

#[cfg(test)]
mod tests;
