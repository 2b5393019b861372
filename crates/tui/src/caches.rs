//! Draws the last-level caches, side by side as far as there is room, with their ways by cluster,
//! and the links, the fullest first.

use crate::canvas::{Canvas, TextRole, bar, heat};
use crate::cells::letter;
use crate::text::{left, right, short, width};
use isobar_view::words::{digits, name};
use isobar_view::{LlcView, View};

/// Width of a cache in columns.
const CACHE: usize = 39;
/// Summed misses per 1000 instructions that fill the bar: four programs that miss like a streaming
/// program.
const FULL: f64 = 100.0;

/// Links that carry less than this fraction of their capacity are not drawn.
const NAMED: f64 = 0.01;

/// Draws at most `most` rows from `y` on; returns the row after them.
pub fn draw(view: &View, canvas: &mut Canvas<'_>, y: u16, most: u16) -> u16 {
    if most == 0 {
        return y;
    }
    let links = u16::from(!view.links.is_empty());
    let below = caches(view, canvas, y, most - links.min(most));
    if links == 1 && below < y + most { draw_links(view, canvas, below) } else { below }
}

fn caches(view: &View, canvas: &mut Canvas<'_>, y: u16, most: u16) -> u16 {
    let across = (usize::from(canvas.area.width + 2) / (CACHE + 2)).max(1);
    let room = across * usize::from(most);
    let mut shown: Vec<&LlcView> = view.llcs.iter().collect();
    if shown.len() > room {
        shown.sort_by(|a, b| b.pressure.unwrap_or(0.0).total_cmp(&a.pressure.unwrap_or(0.0)).then(a.id.cmp(&b.id)));
        shown.truncate(room);
        shown.sort_by_key(|llc| llc.id);
    }
    let rows = shown.len().div_ceil(across);
    for (at, llc) in shown.iter().enumerate() {
        let x = u16::try_from(at % across * (CACHE + 2)).unwrap_or(0);
        one(llc, canvas, x, y + u16::try_from(at / across).unwrap_or(0));
    }
    let below = y + u16::try_from(rows).unwrap_or(0);
    clusters(view, canvas, below, most.saturating_sub(below - y))
}

fn one(llc: &LlcView, canvas: &mut Canvas<'_>, x: u16, y: u16) {
    let nodes: String = llc.nodes.iter().map(|node| letter(node.0)).collect();
    let x = canvas.put(x, y, &left(&format!("llc {} n{nodes}", llc.id), 9), TextRole::Head) + 1;
    let pressure = llc.pressure.map(|sum| sum / FULL);
    let text = right(&llc.pressure.map_or_else(|| "-".into(), digits), 5);
    let x = canvas.put(x, y, &text, pressure.map_or(TextRole::Dim, heat));
    let x = canvas.put(x, y, " MPKI ", TextRole::Dim);
    if llc.clusters.is_empty() {
        let x = canvas.bar(x, y, 8, pressure, pressure.map_or(TextRole::Dim, heat)) + 1;
        canvas.put(x, y, &format!("{} thr", llc.threads), TextRole::Plain);
    } else {
        canvas.put(x, y, &short(&ways(llc), 17), TextRole::Plain);
    }
}

/// The ways, with way 0 at the left: the letter of the cluster, `*` if several clusters share the
/// way, `.` if it belongs to none.
fn ways(llc: &LlcView) -> String {
    let most = llc.clusters.iter().map(|cluster| 64 - cluster.way_mask.leading_zeros()).max().unwrap_or(0);
    let count = llc.ways.map_or(most, |ways| ways.max(most)).min(64);
    let way = |way: u32| {
        let mut has = llc.clusters.iter().zip('A'..='Z').filter(|(cluster, _)| cluster.way_mask >> way & 1 == 1);
        match (has.next(), has.next()) {
            (None, _) => '.',
            (Some((_, letter)), None) => letter,
            (Some(_), Some(_)) => '*',
        }
    };
    (0..count).map(way).collect()
}

/// What the letters mean, with one line per divided cache.
fn clusters(view: &View, canvas: &mut Canvas<'_>, y: u16, most: u16) -> u16 {
    let divided = view.llcs.iter().filter(|llc| !llc.clusters.is_empty()).take(usize::from(most));
    let mut row = y;
    for llc in divided {
        let one = |(letter, cluster): (char, &isobar_view::Cluster)| {
            let of = |pid| view.programs.iter().find(|program| program.pid == pid).map(|program| name(&program.name));
            let mut programs: Vec<String> = cluster.programs.iter().filter_map(|pid| of(*pid)).collect();
            programs.dedup();
            format!("{letter} {} ({}): {}", name(&cluster.name), cluster.way_mask.count_ones(), programs.join(" "))
        };
        let list: Vec<String> = ('A'..='Z').zip(&llc.clusters).map(one).collect();
        let line = format!("  ways of llc {}  {}", llc.id, list.join("  "));
        canvas.put(0, row, &short(&line, usize::from(canvas.area.width)), TextRole::Dim);
        row += 1;
    }
    row
}

fn draw_links(view: &View, canvas: &mut Canvas<'_>, y: u16) -> u16 {
    let mut links: Vec<_> = view.links.iter().filter(|link| link.load() >= NAMED).collect();
    let mut x = canvas.put(0, y, "links", TextRole::Head) + 2;
    if links.is_empty() {
        canvas.put(x, y, &format!("all {} below 1 %", view.links.len()), TextRole::Good);
    }
    links.sort_by(|a, b| b.load().total_cmp(&a.load()).then((a.from, a.to).cmp(&(b.from, b.to))));
    for link in links {
        let text = format!("{}>{} {} {:.0}%", link.from, link.to, bar(4, Some(link.load())), link.load() * 100.0);
        if usize::from(x) + width(&text) > usize::from(canvas.area.width) {
            break;
        }
        x = canvas.put(x, y, &text, heat(link.load())) + 2;
    }
    y + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_view::Cluster;

    #[test]
    fn ways_are_letters_by_cluster() {
        let cluster = |name: &str, way_mask| Cluster { name: name.into(), way_mask, threads: vec![], programs: vec![] };
        let llc =
            LlcView { ways: Some(11), clusters: vec![cluster("a", 0x7), cluster("b", 0x1c)], ..LlcView::default() };
        assert_eq!(ways(&llc), "AA*BB......");
    }
}
