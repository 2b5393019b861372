use super::*;

fn both(numasim: f64, simulator: f64) -> Both<f64> {
    Both { numasim, simulator }
}

fn under(regime: &str, slowdowns: &[Both<f64>], over_linux: Option<Both<f64>>) -> Under {
    let row = |slowdown: &Both<f64>| Row { seat: "a@0".parse().unwrap(), slowdown: *slowdown, reason: None };
    Under {
        mix: "x".to_owned(),
        regime: regime.to_owned(),
        programs: slowdowns.iter().map(row).collect(),
        remote_share: Both { numasim: Some(0.5), simulator: Some(0.2) },
        mib_moved: both(0.0, 0.0),
        thread_moves: Both { numasim: None, simulator: Some(0) },
        over_linux,
    }
}

/// Programs at 1/2 and 2 of their time are level on the mean; at 1/2 and 1/2 the ratio is a half.
#[test]
fn a_gain_is_the_geometric_mean_over_the_programs() {
    let linux = [both(2.0, 4.0), both(1.0, 2.0)];
    let ratio = over(&[both(1.0, 2.0), both(2.0, 1.0)], &linux);
    assert!((ratio.numasim - 1.0).abs() < 1e-12 && (ratio.simulator - 0.5).abs() < 1e-12, "{ratio:?}");
}

/// 1.2 and 1.0 are 17 % apart, and there are 30 points between the shares of remote misses.
#[test]
fn another_placement_is_a_reason_before_any_other() {
    let mut one = under("linux", &[], None);
    assert_eq!(one.reason(both(1.0, 1.09)), None);
    let reason = one.reason(both(1.2, 1.0)).unwrap();
    assert_eq!(reason, "placement: 50 % of misses remote here, 20 % in the simulator");
    one.remote_share.simulator = Some(0.45);
    assert!(
        one.reason(both(1.2, 1.0))
            .unwrap()
            .starts_with("caches, queues or decisions: 50 % of misses remote here, 45 %")
    );
}

/// Rows are 0, 20 (too far) and 5 % apart. On the first ratio both machines see the policy ahead;
/// on the second it is level in the simulator and behind in numasim.
#[test]
fn agreement_counts_rows_and_verdicts() {
    let found = [
        under("linux", &[both(1.0, 1.0)], None),
        under("dino", &[both(1.0, 1.2)], Some(both(0.9, 0.8))),
        under("isobar", &[both(1.0, 0.95)], Some(both(1.05, 1.01))),
    ];
    let agreement = agreement(&found).unwrap();
    assert_eq!((agreement.rows, agreement.verdicts), ([3, 2], [2, 1]));
    assert!((agreement.mean_difference - 0.25 / 3.0).abs() < 1e-9, "{agreement:?}");
    let apart = (0.1 / 0.9 + 0.04 / 1.05) / 2.0;
    assert!((agreement.ratio_difference.unwrap() - apart).abs() < 1e-9, "{agreement:?}");
    assert!((agreement.rank_correlation.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(super::agreement(&[]), None);
}
