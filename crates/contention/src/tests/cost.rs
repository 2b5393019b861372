//! Tests what a question may cost: the budget is kept, and without enough of it there is no answer.

use super::machines::{at, devil, mesh, mixed};
use crate::{Budget, Demand, Machine, NoAnswer, PageCopy, Parts, Question, Solver, solve};

#[test]
fn a_small_budget_gives_no_answer_and_is_never_exceeded() {
    let machine = mesh(4, 1);
    let (threads, copy) = (mixed(16, 4), Some(PageCopy { from: 0, to: 1 }));
    let question = Question { machine: &machine, threads: &threads, copy };
    let enough = solve(&question, Budget::default()).unwrap();
    assert!(enough.evaluations > 3 && enough.evaluations < 100, "{}", enough.evaluations);
    for most in 0..=2 * enough.evaluations {
        match solve(&question, Budget(most)) {
            Ok(answer) => assert!(most >= enough.evaluations && answer == enough, "{most}: {answer:?}"),
            Err(NoAnswer::NotFound { evaluations }) => assert_eq!(evaluations, most),
            Err(other) => panic!("{most}: {other}"),
        }
    }
}

#[test]
fn after_no_answer_the_next_question_is_answered() {
    let (machine, threads) = (mesh(4, 1), mixed(16, 4));
    let question = Question { machine: &machine, threads: &threads, copy: None };
    let (mut solver, cold) = (Solver::default(), solve(&question, Budget::default()).unwrap());
    assert!(solver.ask(&question, Budget(2)).is_err());
    assert_eq!(solver.ask(&question, Budget::default()).unwrap(), &cold);
}

/// To a hundredth of a capacity the search takes fewer rounds, and no rate is off by more than a
/// hundredth.
#[test]
fn a_near_answer_costs_less() {
    let (machine, threads) = (mesh(4, 1), mixed(16, 4));
    let question = Question { machine: &machine, threads: &threads, copy: None };
    let exact = solve(&question, Budget::default()).unwrap();
    let mut solver = Solver::near(0.01);
    let near = solver.ask(&question, Budget::default()).unwrap();
    assert!(near.evaluations < exact.evaluations, "{} and {}", near.evaluations, exact.evaluations);
    let off = |(near, exact): (&f64, &f64)| (near / exact - 1.0).abs();
    let most = near.rates.iter().zip(&exact.rates).map(off).fold(0.0, f64::max);
    assert!(most > 0.0 && most < 0.01, "{most}");
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let machine = mesh(2, 1);
    let refused = |change: fn(&mut Demand)| {
        let mut threads = [devil(at(0), 0, 2), devil(at(1), 0, 2)];
        change(&mut threads[1]);
        let question = Question { machine: &machine, threads: &threads, copy: None };
        solve(&question, Budget::default()).unwrap_err().to_string()
    };
    assert!(refused(|one| one.place.llc = 2).starts_with("thread 1 of the question runs on"));
    assert!(refused(|one| one.place.node = 2).contains("that the machine lacks"));
    assert!(refused(|one| one.mask = 1 << 16).contains("may fill no way"));
    assert!(refused(|one| one.weights = vec![1.0]).contains("a weight"));
    assert!(refused(|one| one.compute = f64::NAN).contains("not finite"));
    assert!(refused(|one| one.prefetch = -0.5).contains("not positive"));
    assert!(refused(|one| one.share = 0.0).contains("not positive"));
    let copy = Some(PageCopy { from: 0, to: 2 });
    let wrong = solve(&Question { machine: &machine, threads: &[], copy }, Budget::default());
    assert_eq!(wrong, Err(NoAnswer::Copy));
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let good = mesh(2, 1).parts().clone();
    let refused = |change: fn(&mut Parts)| {
        let mut parts = good.clone();
        change(&mut parts);
        Machine::new(parts).unwrap_err().part
    };
    assert!(Machine::new(good.clone()).is_ok());
    assert_eq!(refused(|parts| parts.latency[1].truncate(1)), "latency");
    assert_eq!(refused(|parts| parts.latency[1][0] = f64::NAN), "latency");
    assert_eq!(refused(|parts| parts.resources.truncate(1)), "resources");
    assert_eq!(refused(|parts| parts.resources[0].capacity = 0.0), "resources");
    assert_eq!(refused(|parts| parts.routes[0].truncate(1)), "routes");
    assert_eq!(refused(|parts| parts.routes[0][1] = vec![1]), "routes");
    assert_eq!(refused(|parts| parts.packets.probe = -1.0), "packets");
    assert_eq!(refused(|parts| parts.llcs[0].ways = 65), "llcs");
    assert_eq!(refused(|parts| parts.llcs[0].bytes = f64::INFINITY), "llcs");
    assert!(Machine::new(Parts::default()).is_err());
}
