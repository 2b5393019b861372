//! The safe way to the fixed point, taken if the quick methods do not arrive: a box of waits that
//! contains every solution is narrowed and, when narrowing stalls, halved. The search ends, but its
//! worst case is exponential in the resources in use, so the budget bounds it. The proof is step 6
//! of `docs/design/contention-fixed-point.md`.
//!
//! At given waits the spaces are unique (space.rs), and so are the loads `L(W)`; no load rises when
//! a wait rises. So on a box `[low, high]`
//!
//! ```text
//! high_k' = root of u_k(W_k) - L_k(W_k; others low) / C_k     no solution lies above it
//! low_k'  = root of u_k(W_k) - L_k(W_k; others high) / C_k    no solution lies below it
//! ```
//!
//! and a box in which these cross is dropped. Newton's method is tried again from the middle of
//! every box. In practice that ends the search in the first few boxes.

use crate::budget::{Meter, NoAnswer};
use crate::network::{Network, Point, Trial};
use crate::newton::{Workspace, descend};
use crate::root::increasing_root;
use crate::space;
use crate::stream::Stream;

/// Relative accuracy of a bound.
const BOUND: f64 = 1e-12;
/// Bounds that cross by less than this fraction of the capacity count as equal, because they are
/// found to [`BOUND`].
const SAME: f64 = 1e-9;

/// Lower and upper bounds of the waits.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

/// Finds a solution. `best` is the best point so far.
pub(crate) fn search(
    network: &Network,
    best: &mut Trial,
    work: &mut Workspace,
    meter: &mut Meter,
) -> Result<(), NoAnswer> {
    let mut boxes = vec![first(network, meter)?];
    while let Some(mut bounds) = boxes.pop() {
        let mut at = middle(network, &bounds, meter)?;
        let arrived = descend(network, &mut at, work, meter)?;
        if at.error < best.error {
            *best = at;
        }
        if arrived || best.error <= work.close {
            return Ok(());
        }
        if narrow(network, &mut bounds, meter)? {
            boxes.extend(halves(network, &bounds));
        }
    }
    Err(meter.not_found())
}

/// The box of all possible waits.
pub(crate) fn first(network: &Network, meter: &mut Meter) -> Result<Bounds, NoAnswer> {
    let low = vec![0.0; network.resources.len()];
    let mut high: Vec<_> = network.resources.iter().map(|resource| resource.queue).collect();
    for (k, high) in high.iter_mut().enumerate() {
        while excess(network, &low, k, *high, meter)? < 0.0 {
            *high *= 4.0;
        }
    }
    Ok(Bounds { low, high })
}

/// Narrows a box as long as a round takes a tenth off it; false if nothing is left of it.
pub(crate) fn narrow(network: &Network, bounds: &mut Bounds, meter: &mut Meter) -> Result<bool, NoAnswer> {
    loop {
        let before = width(network, bounds);
        for k in 0..bounds.low.len() {
            let (low, high) = (bounds.low[k], bounds.high[k]);
            if excess(network, &bounds.low, k, low, meter)? > SAME
                || excess(network, &bounds.high, k, high, meter)? < -SAME
            {
                return Ok(false);
            }
            let above = increasing_root(low, high, BOUND, |wait| excess(network, &bounds.low, k, wait, meter))?;
            let below = increasing_root(low, high, BOUND, |wait| excess(network, &bounds.high, k, wait, meter))?;
            (bounds.low[k], bounds.high[k]) = (below.min(above), above.max(below));
        }
        if width(network, bounds) >= 0.9 * before {
            return Ok(true);
        }
    }
}

/// Utilisation at a wait of `k` less the utilisation that the streams demand there, with the other
/// waits as given.
fn excess(network: &Network, waits: &[f64], k: usize, wait: f64, meter: &mut Meter) -> Result<f64, NoAnswer> {
    meter.spend()?;
    let mut waits = waits.to_vec();
    waits[k] = wait;
    let stalls: Vec<_> = network.streams.iter().map(|stream| stream.stalled(&waits)).collect();
    let stays = space::stays(network, &stalls, meter)?;
    let on = |stream: &Stream| stream.visits.iter().find(|visit| visit.resource == k).copied();
    let users = network.streams.iter().zip(&stalls).filter_map(|(stream, stall)| Some((stream, stall, on(stream)?)));
    let load: f64 = users
        .map(|(stream, stall, visit)| {
            visit.lines * stream.flow(*stall, stream.mean_stay(&stays), 0.5 * stream.limit).bytes
        })
        .sum();
    Ok(network.resources[k].utilisation(wait) - load / network.resources[k].capacity)
}

/// The longest side of a box, in utilisation.
pub(crate) fn width(network: &Network, bounds: &Bounds) -> f64 {
    (0..bounds.low.len()).map(|k| side(network, bounds, k)).fold(0.0, f64::max)
}

fn side(network: &Network, bounds: &Bounds, k: usize) -> f64 {
    network.resources[k].utilisation(bounds.high[k]) - network.resources[k].utilisation(bounds.low[k])
}

/// The wait in the middle of a side, measured in utilisation.
fn half(network: &Network, bounds: &Bounds, k: usize) -> f64 {
    let resource = network.resources[k];
    let middle = 0.5 * (resource.utilisation(bounds.low[k]) + resource.utilisation(bounds.high[k]));
    resource.wait(middle).clamp(bounds.low[k], bounds.high[k])
}

pub(crate) fn middle(network: &Network, bounds: &Bounds, meter: &mut Meter) -> Result<Trial, NoAnswer> {
    let waits: Vec<_> = (0..bounds.low.len()).map(|k| half(network, bounds, k)).collect();
    let stalls: Vec<_> = network.streams.iter().map(|stream| stream.stalled(&waits)).collect();
    let slack = network.resources.iter().zip(&waits).map(|(resource, wait)| resource.slack(*wait)).collect();
    let point = Point { slack, stay: space::stays(network, &stalls, meter)? };
    let mut at = Trial { point, ..Trial::default() };
    network.evaluate(&mut at, meter)?;
    Ok(at)
}

/// Both halves of a box, cut across its longest side; none if that side is too short to be halved.
pub(crate) fn halves(network: &Network, bounds: &Bounds) -> Vec<Bounds> {
    let widest = (0..bounds.low.len()).max_by(|a, b| side(network, bounds, *a).total_cmp(&side(network, bounds, *b)));
    let Some(k) = widest else { return Vec::new() };
    let middle = half(network, bounds, k);
    if middle <= bounds.low[k] || middle >= bounds.high[k] {
        return Vec::new();
    }
    let (mut upper, mut lower) = (bounds.clone(), bounds.clone());
    (upper.low[k], lower.high[k]) = (middle, middle);
    vec![upper, lower]
}
