use super::{Spec, Strategy, figures, study};

/// Small programs and a short time, so that the whole path runs quickly.
fn small() -> Spec {
    Spec {
        programs: vec!["povray".to_owned(), "namd".to_owned()],
        shared: vec!["apache".to_owned()],
        ks: vec![1, 64],
        rates: vec![1e-4, 1e-3],
        seconds: 0.05,
        repeats: 1,
        ..Spec::paper()
    }
}

#[test]
fn a_study_has_a_cell_for_everything_that_was_asked() {
    let study = study(&small()).unwrap();
    // 4 strategies; K = 1, 64 and the paper's 4096; the daemon's samples and two rates; two
    // programs.
    assert_eq!((study.cells.len(), study.means.len()), (4 * 3 * 3 * 2, 4 * 3 * 3));
    assert!(study.cells.iter().all(|cell| (0.0..=100.0).contains(&cell.sra_percent)));
    assert_eq!((study.versus.len(), study.sampled_percent.len()), (3 * 3, 2));
}

#[test]
fn with_one_page_a_sample_all_strategies_save_the_same() {
    let study = study(&small()).unwrap();
    for cell in study.cells.iter().filter(|cell| cell.k == 1) {
        let mut alike =
            study.cells.iter().filter(|other| (&other.program, other.k, other.rate) == (&cell.program, 1, cell.rate));
        assert!(alike.all(|other| other.sra_percent.total_cmp(&cell.sra_percent).is_eq()));
    }
}

#[test]
fn the_same_spec_gives_the_same_bytes_and_another_seed_does_not() {
    let once = |seed| {
        let study = study(&Spec { seed, ..small() }).unwrap();
        (figures(&small(), &study), study)
    };
    assert_eq!(once(1), once(1));
    assert_ne!(once(1).1.cells, once(2).1.cells);
}

#[test]
fn each_seed_is_a_study_of_its_own() {
    let twice = study(&Spec { repeats: 2, ..small() }).unwrap();
    let second = study(&Spec { seed: 2, ..small() }).unwrap();
    assert_eq!(twice.by_seed[1], second.by_seed[0]);
    assert_eq!((twice.by_seed.len(), twice.cells), (2, study(&small()).unwrap().cells));
}

#[test]
fn another_k_changes_no_other_cell() {
    let few = study(&small()).unwrap();
    let more = study(&Spec { ks: vec![1, 16, 64, 256], ..small() }).unwrap();
    assert!(few.cells.iter().all(|cell| more.cells.contains(cell)));
}

#[test]
fn more_samples_save_more_on_average() {
    let study = study(&Spec { programs: vec!["namd".to_owned()], ..small() }).unwrap();
    for strategy in Strategy::COMPARED {
        let sra = |rate: f64| {
            let mut cells = study.means.iter().filter(|cell| cell.strategy == strategy && cell.k == 64);
            cells.find(|cell| cell.rate == Some(rate)).unwrap().sra_percent
        };
        assert!(sra(1e-3) > sra(1e-4), "{strategy:?}");
    }
}
