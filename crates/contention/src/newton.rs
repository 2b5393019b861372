//! The fast way to the fixed point: Newton's method on all equations at once, with each step
//! shortened until it reduces the largest residual. It ends: every round reduces the residual by a
//! fixed fraction, or the method gives up and says so. Near the solution every round doubles the
//! number of correct digits, so a machine on which little changed is solved in two or three rounds.

use crate::budget::{Meter, NoAnswer};
use crate::network::{LONGEST, Network, Trial};
use crate::root::DOUBLED;

/// The largest residual of a solution unless another is set: every resource carries, and every part
/// of a cache holds, what it should to this fraction of its capacity.
pub(crate) const BALANCE: f64 = 1e-9;
/// The smallest fraction of Newton's step that is tried.
const SHORTEST: f64 = 1.0 / 1024.0;

/// The required accuracy, and memory that is reused from call to call.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    /// The largest residual that a solution may have.
    pub close: f64,
    pub matrix: Vec<f64>,
    pub step: Vec<f64>,
    pub trial: Trial,
}

/// The longest last step of the space held by a stream, as a fraction of what it holds or of what
/// it lacks of its footprint. The space is then known to about one part in 10^8, or in 10^4 at a
/// kink of a measured curve.
const NEAR_STEP: f64 = 1e-4;

impl Workspace {
    /// How exact the space held by a stream must be for the accuracy that is required of all.
    pub fn last_step(&self) -> f64 {
        self.close.clamp(DOUBLED, NEAR_STEP)
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self { close: BALANCE, matrix: Vec::new(), step: Vec::new(), trial: Trial::default() }
    }
}

/// Goes from `at` (evaluated) towards a solution. Returns whether it arrived. `at` is then the best
/// point found.
pub(crate) fn descend(
    network: &Network,
    at: &mut Trial,
    work: &mut Workspace,
    meter: &mut Meter,
) -> Result<bool, NoAnswer> {
    while at.error > work.close {
        jacobian(network, at, &mut work.matrix);
        work.step.clone_from(&at.residual);
        if !eliminate(&mut work.matrix, &mut work.step) || !shorten(network, at, work, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes the longest of the steps 1, 1/2, 1/4, ... after which the largest residual has fallen
/// enough.
fn shorten(network: &Network, at: &mut Trial, work: &mut Workspace, meter: &mut Meter) -> Result<bool, NoAnswer> {
    let mut length = 1.0;
    work.trial.flows.clone_from(&at.flows);
    while length >= SHORTEST {
        step(network, at, &work.step, length, &mut work.trial);
        network.evaluate(&mut work.trial, meter)?;
        if work.trial.error <= (1.0 - 0.25 * length) * at.error {
            std::mem::swap(at, &mut work.trial);
            return Ok(true);
        }
        length *= 0.5;
    }
    Ok(false)
}

/// The point at a fraction of a step. To first order it is `at - length * step`, but no utilisation
/// leaves (0, 1) and no residence time becomes negative.
pub(crate) fn step(network: &Network, at: &Trial, step: &[f64], length: f64, to: &mut Trial) {
    let resources = network.resources.len();
    let slack = at.point.slack.iter().zip(step).map(|(slack, step)| {
        let (used, more) = ((1.0 - slack).max(f64::MIN_POSITIVE), -length * step);
        if more > 0.0 { slack / (1.0 + more / slack) } else { 1.0 - used / (1.0 - more / used) }
    });
    to.point.slack.clear();
    to.point.slack.extend(slack);
    let stay = at.point.stay.iter().zip(&step[resources..]).map(|(stay, step)| {
        let more = -length * step;
        if more > 0.0 { stay * (1.0 + more) } else { stay / (1.0 - more) }
    });
    to.point.stay.clear();
    to.point.stay.extend(stay);
}

/// Derivatives of the residuals by utilisations and by relative changes of residence times, row by
/// row.
pub(crate) fn jacobian(network: &Network, at: &Trial, matrix: &mut Vec<f64>) {
    let (resources, n) = (network.resources.len(), network.unknowns());
    matrix.clear();
    matrix.resize(n * n, 0.0);
    (0..resources).for_each(|k| matrix[k * n + k] = 1.0);
    (0..network.spaces.len()).for_each(|a| matrix[(resources + a) * (n + 1)] = at.point.stay[a] / LONGEST);
    let mut steepness: Vec<f64> = Vec::with_capacity(resources);
    steepness.extend(network.resources.iter().zip(&at.point.slack).map(|(one, slack)| one.steepness(*slack)));
    for (stream, flow) in network.streams.iter().zip(&at.flows).filter(|(_, flow)| flow.bytes > 0.0) {
        let stay = stream.mean_stay(&at.point.stay);
        let (by_stall, by_stay) = (flow.by_stall, flow.by_stay);
        // b = bytes / (Y + S) gives db.
        let bytes = -flow.bytes / flow.period;
        let columns = stream.visits.iter().map(|visit| {
            let stall = visit.stall * steepness[visit.resource];
            (visit.resource, bytes * (1.0 + flow.slope * by_stall) * stall, by_stall * stall, f64::NAN)
        });
        let columns = columns.chain(stream.shares.iter().map(|(part, share)| {
            let stay_here = share * at.point.stay[*part];
            (resources + part, bytes * flow.slope * by_stay * stay_here, by_stay * stay_here, stay_here / stay)
        }));
        for (column, bytes, space, part_here) in columns {
            for visit in &stream.visits {
                matrix[visit.resource * n + column] -= visit.lines * bytes / network.resources[visit.resource].capacity;
            }
            for (part, share) in &stream.shares {
                let held = share * at.point.stay[*part] / stay;
                let mut change = held * space;
                if !part_here.is_nan() && stream.shares.len() > 1 {
                    let own = if resources + part == column { 1.0 } else { 0.0 };
                    change += flow.space * held * (own - part_here);
                }
                matrix[(resources + part) * n + column] += change / network.spaces[*part];
            }
        }
    }
}

/// Solves `matrix * x = right` in place by Gaussian elimination with row pivots; false if the
/// matrix is singular.
pub(crate) fn eliminate(matrix: &mut [f64], right: &mut [f64]) -> bool {
    let n = right.len();
    for column in 0..n {
        let best = (column..n).max_by(|a, b| matrix[a * n + column].abs().total_cmp(&matrix[b * n + column].abs()));
        let Some(best) = best.filter(|row| matrix[row * n + column].abs() > 0.0) else { return false };
        if best != column {
            (0..n).for_each(|k| matrix.swap(best * n + k, column * n + k));
            right.swap(best, column);
        }
        let (above, below) = matrix.split_at_mut((column + 1) * n);
        let pivot = &above[column * n..];
        for (row, line) in below.chunks_exact_mut(n).enumerate() {
            let factor = line[column] / pivot[column];
            if factor != 0.0 {
                line[column..].iter_mut().zip(&pivot[column..]).for_each(|(value, pivot)| *value -= factor * pivot);
                right[column + 1 + row] -= factor * right[column];
            }
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| matrix[row * n + k] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row * n + row];
    }
    right.iter().all(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_pivots_and_sees_what_is_singular() {
        let mut right = vec![8.0, 3.0];
        assert!(eliminate(&mut [0.0, 4.0, 1.0, 1.0], &mut right));
        assert_eq!(right, [1.0, 2.0]);
        assert!(!eliminate(&mut [1.0, 2.0, 2.0, 4.0], &mut [1.0, 1.0]));
    }
}
