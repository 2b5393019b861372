//! Category names below a figure: horizontal if they fit, otherwise vertical.

use crate::frame::{Area, FONT, Fault, LEFT, clean, position, tick};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{BLACK, Cartesian2d, Color, FontTransform, IntoFont, SVGBackend, Text};
use plotters::style::TextStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Fraction of a group's width that is filled.
pub(super) const FILLED: f64 = 0.8;
/// If there are fewer pixels than this per character, names are written vertically.
const CHARACTER: usize = 7;
const PLOT_WIDTH: usize = 700;
/// Maximum length of a name, in characters.
const LONGEST: usize = 22;

/// Category names, ready to be drawn.
pub(super) struct Categories {
    names: Vec<String>,
    upright: bool,
}

impl Categories {
    pub fn of(names: &[String]) -> Self {
        let names: Vec<String> = names.iter().map(|name| clean(name).chars().take(LONGEST).collect()).collect();
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let upright = names.len() * (longest + 1) * CHARACTER > PLOT_WIDTH;
        Self { names, upright }
    }

    /// The height in pixels that the names need below the plot.
    fn room(&self) -> u32 {
        let longest = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        if self.upright { 20 + u32::try_from(longest * CHARACTER).unwrap_or(0) } else { 30 }
    }

    /// The x axis: each group is centred on a whole number.
    pub fn across(&self) -> Range<f64> {
        -0.5..position(self.names.len().max(1)) - 0.5
    }

    /// The axes and the mesh of a figure over the groups.
    pub fn chart<'a, 'b>(&self, area: &Area<'b>, up: Range<f64>, y_label: &str) -> Result<Chart<'a, 'b>, Fault> {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(self.room())
            .y_label_area_size(LEFT)
            .build_cartesian_2d(self.across(), up)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().x_labels(0).light_line_style(BLACK.mix(0.0)).y_desc(clean(y_label));
        mesh.label_style((FONT, 13)).axis_desc_style((FONT, 14)).y_label_formatter(&|y| tick(*y)).draw()?;
        Ok(chart)
    }

    /// Writes the names below their groups.
    pub fn label(&self, area: &Area<'_>, chart: &Chart<'_, '_>) -> Result<(), Fault> {
        let bottom = chart.plotting_area().get_pixel_range().1.end;
        let (left, top) = area.get_base_pixel();
        let style: TextStyle<'_> = (FONT, 13).into_font().into();
        let style = if self.upright {
            style.transform(FontTransform::Rotate270).pos(Pos::new(HPos::Right, VPos::Center))
        } else {
            style.pos(Pos::new(HPos::Center, VPos::Top))
        };
        self.names.iter().enumerate().try_for_each(|(index, name)| {
            let (x, _) = chart.backend_coord(&(position(index), 0.0));
            area.draw(&Text::new(name.clone(), (x - left, bottom - top + 7), style.clone()))
        })
    }
}
