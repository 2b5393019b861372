//! Draws curves in a terminal: braille dots, eight to a character, with the scale of both axes. It
//! draws the points that it is given and computes nothing from them.

/// Size of the drawing area, in characters.
const WIDTH: usize = 64;
const HEIGHT: usize = 12;
/// Bits of a braille character by column and row of its dots (Unicode 15, block 2800).
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Labels of the axes.
pub struct Axes<'a> {
    /// above the curve
    pub title: &'a str,
    /// the unit at the right end of the x axis
    pub x_unit: &'a str,
}

/// Draws curves over x and y, both from 0. Each curve is a list of points, ascending by x. The
/// result is empty if there is nothing to draw.
pub fn plot(axes: &Axes<'_>, curves: &[Vec<(f64, f64)>]) -> String {
    let points = || curves.iter().flatten();
    let x_most = points().map(|point| point.0).fold(0.0, f64::max);
    let y_most = round_up(points().map(|point| point.1).fold(0.0, f64::max));
    if x_most <= 0.0 || y_most <= 0.0 {
        return String::new();
    }
    let mut cells = vec![vec![0u32; WIDTH]; HEIGHT];
    for curve in curves {
        (0..2 * WIDTH).for_each(|column| {
            let x = fraction(column, 2 * WIDTH - 1) * x_most;
            if let Some(y) = at(curve, x) {
                dot(&mut cells, column, 1.0 - (y / y_most).clamp(0.0, 1.0));
            }
        });
    }
    let rows = cells.iter().enumerate().map(|(row, cells)| line(row, y_most, cells));
    let axis = format!("{:>8} └{}\n", "", "─".repeat(WIDTH));
    let (middle, most) = (label(x_most / 2.0), format!("{} {}", label(x_most), axes.x_unit));
    let ends = format!("{:>9} 0{middle:>half$}{most:>rest$}\n", "", half = WIDTH / 2, rest = WIDTH / 2 - 1);
    format!("{}\n{}{axis}{ends}", axes.title, rows.collect::<String>())
}

fn fraction(part: usize, of: usize) -> f64 {
    let float = |number: usize| u32::try_from(number).map_or(0.0, f64::from);
    float(part) / float(of).max(1.0)
}

fn line(row: usize, y_most: f64, cells: &[u32]) -> String {
    let text: String = cells.iter().filter_map(|bits| char::from_u32(0x2800 + bits)).collect();
    let tick = match row {
        0 => label(y_most),
        row if row == HEIGHT / 2 => label(y_most / 2.0),
        row if row == HEIGHT - 1 => "0".to_owned(),
        _ => String::new(),
    };
    format!("{tick:>8} {}{}\n", if tick.is_empty() { '│' } else { '┤' }, text.trim_end_matches('\u{2800}'))
}

/// Sets the dot of a column. `down` is the height of the dot: 0 at the top, 1 at the bottom.
fn dot(cells: &mut [Vec<u32>], column: usize, down: f64) {
    let rows = 4 * HEIGHT;
    let row = (0..rows).min_by(|a, b| distance(*a, rows, down).total_cmp(&distance(*b, rows, down))).unwrap_or(0);
    cells[row / 4][column / 2] |= DOTS[column % 2][row % 4];
}

fn distance(row: usize, rows: usize, down: f64) -> f64 {
    (fraction(row, rows - 1) - down).abs()
}

/// The value of a curve at `x`, interpolated between its points; `None` beyond its ends.
fn at(curve: &[(f64, f64)], x: f64) -> Option<f64> {
    let pair = curve.windows(2).find(|pair| (pair[0].0..=pair[1].0).contains(&x))?;
    let (from, to) = (pair[0], pair[1]);
    let part = if to.0 > from.0 { (x - from.0) / (to.0 - from.0) } else { 1.0 };
    Some(from.1 + part * (to.1 - from.1))
}

/// Rounds a value up to the next of 1, 1.5, 2, 3, 4, 5, 6, 8 and these times powers of ten.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let ten = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * ten).find(|step| *step >= value).unwrap_or(10.0 * ten)
}

/// A number with at most three digits.
fn label(value: f64) -> String {
    let decimals = match value.abs() {
        value if value >= 10.0 => 0,
        value if value >= 1.0 => 1,
        value if value >= 0.1 => 2,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_line_goes_from_the_upper_left_to_the_lower_right() {
        let drawn = plot(&Axes { title: "misses", x_unit: "MiB" }, &[vec![(0.0, 10.0), (8.0, 0.0)]]);
        let lines: Vec<_> = drawn.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 3);
        assert!(lines[1].starts_with("      10 ┤") && lines[HEIGHT].starts_with("       0 ┤"), "{drawn}");
        assert!(lines[HEIGHT + 2].ends_with("8 MiB") && lines[HEIGHT + 2].contains(" 4 "), "{drawn}");
        let first = |line: &str| line.chars().skip(10).position(|c| c != '\u{2800}').unwrap();
        assert_eq!(first(lines[1]), 0);
        assert!(first(lines[HEIGHT]) > WIDTH * 9 / 10 - 1, "{drawn}");
        assert!(lines.iter().all(|line| line.chars().count() <= 100));
    }

    #[test]
    fn nothing_is_drawn_of_nothing_and_scales_are_round() {
        let axes = Axes { title: "", x_unit: "" };
        assert_eq!(plot(&axes, &[]), "");
        assert_eq!(plot(&axes, &[vec![(0.0, 0.0), (1.0, 0.0)]]), "");
        assert_eq!((round_up(37.0), round_up(0.07), round_up(10.0)), (40.0, 0.08, 10.0));
        assert_eq!((label(40.0), label(2.50), label(0.08)), ("40".to_owned(), "2.5".to_owned(), "0.08".to_owned()));
    }
}
