//! The pure parts by hand; a quick run of all.

use super::bounds;
use super::factors::Split;

#[test]
fn each_step_adds_one_factor() {
    // 10 % remote, 60 % with the controller, 90 % with the link, 100 % with the cache.
    let split = Split::of([10.0, 60.0, 90.0, 100.0]);
    assert_eq!(split.percents(), [10.0, 50.0, 30.0, 10.0]);
}

#[test]
fn bounds_of_none_are_none() {
    assert_eq!(bounds([]), None);
    assert_eq!(bounds([3.0, -1.0, 2.0]), Some((-1.0, 3.0)));
}
