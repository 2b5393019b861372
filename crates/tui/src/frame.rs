//! Draws a frame, and divides the screen among its parts.

use crate::app::App;
use crate::canvas::Canvas;
use crate::{caches, foot, head, nodes, overlay, table};
use ratatui_core::buffer::Buffer;
use std::sync::Arc;

/// Minimum number of rows of the table, including its heading.
const TABLE: u16 = 6;

/// Draws the screen.
pub fn draw(app: &mut App, buffer: &mut Buffer) {
    let mut canvas = Canvas::new(buffer, app.setup.colour);
    let view = app.past.now().map(Arc::clone);
    let view = view.as_deref();
    let mut y = head::draw(app, view, &mut canvas);
    let foot = foot::draw(app, view, &mut canvas);
    if let Some(view) = view {
        let room = |y: u16| foot.saturating_sub(y + TABLE);
        // Nodes may take a third of the screen, caches and links a quarter.
        let third = room(y).min(canvas.area.height / 3 + 1);
        y = nodes::draw(view, &mut canvas, y, third);
        let quarter = room(y).min(canvas.area.height / 4);
        y = caches::draw(view, &mut canvas, y, quarter);
        table::draw(app, view, &mut canvas, y..foot);
    }
    overlay::draw(app, view, &mut canvas);
}
