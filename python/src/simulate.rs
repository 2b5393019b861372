//! `simulate`: policies compared on a simulated machine, as `isobar sim` compares them.

use crate::apart::{Standing, apart};
use crate::decider::{Cost, Decider, Stoppable};
use crate::error::{PolicyError, bad, of_lab};
use crate::files;
use isobar_external::{Costs, External, OnFault, Options, Program};
use isobar_lab::{CompareSpec, NamedPolicy, Starts, compare_in_full};
use isobar_model::{Policy, Sensor};
use isobar_runtime::policies as shipped;
use isobar_runtime::settings::Config;
use isobar_sim::Workload;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The names of the policies that ship with isobar.
#[pyfunction]
pub fn policies() -> Vec<&'static str> {
    shipped::names()
}

/// A policy in Python as it is passed in: its name, the sensors that it needs, those that it uses,
/// and the function that makes a fresh one.
type Handed = (String, Vec<String>, Vec<String>, Py<PyAny>);

/// The request.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Request {
    workloads: Vec<String>,
    policies: Vec<String>,
    handed: Vec<Handed>,
    settings: Vec<String>,
    repeat: u32,
    seed: u64,
    schedules: String,
    jobs: usize,
}

/// Compares policies; the answer is a JSON document.
///
/// `interrupt` ends policies in Python that are deciding.
#[pyfunction]
pub fn simulate(
    py: Python<'_>,
    request: Request,
    progress: Option<Py<PyAny>>,
    interrupt: Py<PyAny>,
) -> PyResult<String> {
    let specs = request.specs()?;
    let config = Config::of_policies(&request.settings).map_err(bad)?;
    let makers = request.makers(&config)?;
    let standing = Standing::default();
    let done = apart(py, &standing, progress.as_ref(), &|py| interrupt.call0(py).map(drop), || {
        compared(&specs, &makers, &standing)
    })?;
    match done {
        Ok(all) => Ok(json!({"workloads": all, "costs": costs(&makers)}).to_string()),
        Err(failed) => Err(raised(py, &makers).unwrap_or_else(|| of_lab(&failed.0, &failed.1))),
    }
}

/// A workload with its name, and the comparison to make on it.
type Named = (String, CompareSpec);

impl Request {
    fn specs(&self) -> PyResult<Vec<Named>> {
        let starts = match self.schedules.as_str() {
            "auto" => Starts::Auto,
            "all" => Starts::Every,
            "sampled" => Starts::Sampled,
            other => return Err(bad(format!("schedules {other:?}: expected \"auto\", \"all\" or \"sampled\""))),
        };
        if !(1..=1000).contains(&self.repeat) {
            return Err(bad(format!("repeat {}: expected 1 to 1000", self.repeat)));
        }
        let spec = |workload: Workload| CompareSpec {
            workload,
            seed: self.seed,
            repeat: self.repeat,
            starts,
            jobs: self.jobs,
        };
        self.workloads
            .iter()
            .map(|named| files::workload(named).map(|(name, workload)| (name, spec(workload))))
            .collect()
    }

    /// In the requested order. A name that was passed in is that of a policy in Python.
    fn makers(&self, config: &Config) -> PyResult<Vec<(String, Maker)>> {
        let mut seen = BTreeSet::new();
        let mut handed: BTreeMap<&str, &Handed> = self.handed.iter().map(|one| (one.0.as_str(), one)).collect();
        let mut makers = Vec::new();
        for name in &self.policies {
            if !seen.insert(name) {
                return Err(bad(format!(
                    "policies: `{name}` occurs twice: name each once (a class's `name` names it)"
                )));
            }
            let maker = match handed.remove(name.as_str()) {
                Some(_) if shipped::names().contains(&name.as_str()) => {
                    return Err(bad(format!(
                        "policy {name}: one that ships has that name: set another `name` on the class"
                    )));
                }
                Some(of_python) => Maker::of_python(of_python)?,
                None => Maker::named(name, config)?,
            };
            makers.push((name.clone(), maker));
        }
        Ok(makers)
    }
}

type Make = Box<dyn Fn() -> Box<dyn Policy> + Send + Sync>;

/// Makes fresh policies.
enum Maker {
    Ours(Make),
    Python(Decider),
}

/// Time limit for a decision of a program: only a program that hangs takes longer.
const HANGS: Duration = Duration::from_secs(60);

impl Maker {
    fn of_python((name, needs, uses, make): &Handed) -> PyResult<Self> {
        let (name, needs, uses) = (forever(name), sensors(name, needs)?, sensors(name, uses)?);
        let make = Python::attach(|py| make.clone_ref(py));
        Ok(Self::Python(Decider { name, needs, uses, make, shared: Default::default() }))
    }

    fn named(name: &str, config: &Config) -> PyResult<Self> {
        let Some(program) = Program::of_policy(name) else {
            let (name, config) = (name.to_owned(), config.clone());
            shipped::build(&name, &config, &files::settings).map_err(bad)?;
            #[expect(clippy::expect_used, reason = "the line above has just built it from the same settings")]
            let make = move || shipped::build(&name, &config, &files::settings).expect("checked settings");
            return Ok(Self::Ours(Box::new(make)));
        };
        let program = program.map_err(bad)?;
        let exec = &config.exec;
        let options = Options {
            timeout: exec.timeout_seconds.map_or(HANGS, Duration::from_secs_f64),
            stop: Arc::default(),
            restarts: exec.restarts,
            needs: exec.needs.clone().leak(),
            uses: exec.uses.clone().leak(),
            on_fault: OnFault::End,
            here: false,
            remark: None,
        };
        let make = move || Box::new(External::start(&program, &options, &Costs::default())) as Box<dyn Policy>;
        Ok(Self::Ours(Box::new(make)))
    }

    fn make(&self) -> Box<dyn Policy> {
        match self {
            Self::Ours(make) => make(),
            Self::Python(decider) => decider.make(),
        }
    }
}

/// A name that lives as long as the process; each is kept once.
fn forever(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get(name).copied().unwrap_or_else(|| {
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        names.insert(kept);
        kept
    })
}

/// Sensors by the names that `exec.needs` uses.
fn sensors(policy: &str, names: &[String]) -> PyResult<&'static [Sensor]> {
    let all: Vec<Sensor> =
        serde_json::from_value(json!(names)).map_err(|error| bad(format!("policy {policy}: {error}")))?;
    Ok(if all.is_empty() { &[] } else { all.leak() })
}

/// The name of the workload, and the error.
type Failed = Box<(String, isobar_lab::LabError)>;

fn compared(specs: &[Named], makers: &[(String, Maker)], standing: &Standing) -> Result<Vec<Value>, Failed> {
    let stoppable = |maker: &Maker| Box::new(Stoppable { inner: maker.make(), standing: standing.clone() });
    let named = |(name, maker)| -> NamedPolicy<'_> { named_policy(name, maker, &stoppable) };
    let policies: Vec<_> = makers.iter().map(|(name, maker)| named((name, maker))).collect();
    let mut before = 0;
    let mut one = |(name, spec): &Named| {
        let mut last = 0;
        let told = Mutex::new(&mut last);
        let progress = |done, all| {
            standing.notify(before + done, before + all);
            **told.lock().unwrap_or_else(PoisonError::into_inner) = all;
        };
        let (compared, runs) =
            compare_in_full(spec, &policies, &progress).map_err(|error| Box::new((name.clone(), error)))?;
        before += last;
        let notes: BTreeSet<_> = spec.workload.apps.iter().flat_map(|app| app.program.notes()).collect();
        Ok(json!({"workload": name, "comparison": compared, "runs": runs, "notes": notes}))
    };
    specs.iter().map(&mut one).collect()
}

fn named_policy<'a>(
    name: &str,
    maker: &'a Maker,
    stoppable: &'a (impl Fn(&Maker) -> Box<Stoppable> + Sync),
) -> NamedPolicy<'a> {
    (name.to_owned(), Box::new(move || stoppable(maker)))
}

/// The costs of policies in Python, in milliseconds per decision.
fn costs(makers: &[(String, Maker)]) -> Vec<Value> {
    let each = |time: Duration, decisions: u64| {
        (decisions > 0).then(|| time.as_secs_f64() * 1000.0 / u32::try_from(decisions).map_or(f64::INFINITY, f64::from))
    };
    let of_python = makers.iter().filter_map(|(name, maker)| match maker {
        Maker::Python(decider) => Some((name, decider.shared.cost())),
        Maker::Ours(_) => None,
    });
    let row = |(name, cost): (&String, Cost)| {
        let Cost { decisions, elapsed, policy, computed, policy_computed } = cost;
        json!({
            "policy": name,
            "decisions": decisions,
            "policy_ms": each(policy, decisions),
            "isobar_ms": each(elapsed.saturating_sub(policy), decisions),
            "policy_cpu_ms": each(policy_computed, decisions),
            "isobar_cpu_ms": each(computed.saturating_sub(policy_computed), decisions),
        })
    };
    of_python.map(row).collect()
}

/// The exception that ended the comparison, if one of Python's policies raised it.
fn raised(py: Python<'_>, makers: &[(String, Maker)]) -> Option<PyErr> {
    makers.iter().find_map(|(name, maker)| {
        let Maker::Python(decider) = maker else { return None };
        let cause = decider.shared.raised()?;
        let (kind, value) = (cause.get_type(py).name().ok()?.to_string(), cause.value(py).to_string());
        let error = PolicyError::new_err(format!("policy {name}: {kind}: {value}"));
        error.set_cause(py, Some(cause));
        Some(error)
    })
}
