//! Tests the bracketing search without Newton's help.

use super::machines::{at, devil, mesh};
use crate::bracket::{first, halves, middle, narrow, width};
use crate::budget::{Budget, Meter};
use crate::newton::{Workspace, descend};
use crate::{Question, build};

/// Boxes become narrower, those without a solution are dropped, and what is left is the solution.
#[test]
fn boxes_close_in_on_the_solution() {
    let threads: Vec<_> = (0..3).map(|i| devil(at(i % 2), 0, 2)).collect();
    let (network, _) = build::network(&Question { machine: &mesh(2, 1), threads: &threads, copy: None }, Vec::new());
    let meter = &mut Meter::new(Budget::default());
    let mut boxes = vec![first(&network, meter).unwrap()];
    let mut solved = middle(&network, &boxes[0], meter).unwrap();
    assert!(descend(&network, &mut solved, &mut Workspace::default(), meter).unwrap());
    let truth = solved.waits;
    while let Some(mut bounds) = boxes.pop() {
        let holds = (0..truth.len()).all(|k| bounds.low[k] <= truth[k] && truth[k] <= bounds.high[k]);
        let left = narrow(&network, &mut bounds, meter).unwrap();
        assert!(left || !holds, "{bounds:?}");
        if left && width(&network, &bounds) < 1e-3 {
            let found = middle(&network, &bounds, meter).unwrap().waits;
            assert!((0..truth.len()).all(|k| (found[k] - truth[k]).abs() < 1e-9), "{found:?} {truth:?}");
            return;
        }
        if left {
            boxes.extend(halves(&network, &bounds));
        }
    }
    panic!("the solution was lost");
}
