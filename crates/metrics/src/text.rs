//! Writes families as text: OpenMetrics, by the library, and the older format that
//! `promtool check metrics` and most tools read. In the older format the description of a counter
//! has the name of the counter's samples.

use crate::family::{Family, Kind, Label, Sample, Value};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;
use std::collections::BTreeSet;
use std::fmt;

/// A format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus's text format 0.0.4.
    Classic,
}

impl Form {
    /// The format that a client accepts, according to its `Accept` header.
    #[must_use]
    pub fn accepted(accept: Option<&str>) -> Self {
        let wants = accept.is_some_and(|accept| accept.contains("application/openmetrics-text"));
        if wants { Self::OpenMetrics } else { Self::Classic }
    }

    /// The value of the `Content-Type` header.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Families as text.
///
/// # Errors
/// Never: writing to memory does not fail.
pub fn write(families: Vec<Family>, form: Form) -> Result<String, fmt::Error> {
    let counters = families.iter().filter(|family| family.kind == Kind::Counter).map(Family::full_name).collect();
    let mut registry = Registry::with_prefix("isobar");
    registry.register_collector(Box::new(All(families)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(if form == Form::Classic { classic(&text, &counters) } else { text })
}

/// The same lines in the older format.
fn classic(text: &str, counters: &BTreeSet<String>) -> String {
    let mut lines = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
        lines.push_str(&described(line, counters).unwrap_or_else(|| line.to_owned()));
        lines.push('\n');
    }
    lines
}

/// The description of a counter, under the name of its samples.
fn described(line: &str, counters: &BTreeSet<String>) -> Option<String> {
    let (what, rest) = ["# HELP ", "# TYPE "].iter().find_map(|what| Some((what, line.strip_prefix(what)?)))?;
    let (name, rest) = rest.split_once(' ')?;
    counters.contains(name).then(|| format!("{what}{name}_total {rest}"))
}

#[derive(Debug)]
struct All(Vec<Family>);

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in &self.0 {
            let kind = match family.kind {
                Kind::Gauge => MetricType::Gauge,
                Kind::Counter => MetricType::Counter,
                Kind::Histogram => MetricType::Histogram,
            };
            let mut metric = encoder.encode_descriptor(family.name, family.help, family.unit.as_ref(), kind)?;
            for sample in &family.samples {
                encode_sample(&mut metric, family.kind, sample)?;
            }
        }
        Ok(())
    }
}

fn encode_sample(metric: &mut MetricEncoder<'_>, kind: Kind, sample: &Sample) -> fmt::Result {
    if sample.labels.is_empty() {
        return encode_value(metric, kind, &sample.value);
    }
    let labels: &[Label] = &sample.labels;
    encode_value(&mut metric.encode_family(&labels)?, kind, &sample.value)
}

const NO_EXEMPLAR: Option<&Exemplar<NoLabelSet, f64>> = None;

fn encode_value(metric: &mut MetricEncoder<'_>, kind: Kind, value: &Value) -> fmt::Result {
    match (value, kind) {
        (Value::Number(number), Kind::Counter) => metric.encode_counter(number, NO_EXEMPLAR),
        (Value::Number(number), _) => metric.encode_gauge(number),
        (Value::Count(count), _) => metric.encode_counter(count, NO_EXEMPLAR),
        (Value::Histogram(histogram), _) => {
            metric.encode_histogram::<NoLabelSet>(histogram.sum(), histogram.count(), &histogram.buckets(), None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Families, label, named};
    use crate::histogram::Histogram;

    fn families() -> Vec<Family> {
        let mut families = Families::default();
        families.gauge(named("free", "bytes", "What is free"), [(vec![label("node", "0")], Some(4096.0))]);
        families.counter(named("acts", "", "What was done"), [(vec![label("kind", "a\"\\\nb")], 3)]);
        families.seconds(named("cpu", "seconds", "Time"), Some(1.5));
        let mut histogram = Histogram::new(&[1.0]);
        histogram.observe(0.5);
        families.histogram(named("gain", "ratio", "Gain"), &histogram);
        families.into_all()
    }

    #[test]
    fn open_metrics_has_units_and_an_end() {
        let text = write(families(), Form::OpenMetrics).unwrap();
        assert_eq!(
            text,
            "# HELP isobar_free_bytes What is free\n# TYPE isobar_free_bytes gauge\n# UNIT isobar_free_bytes bytes\n\
             isobar_free_bytes{node=\"0\"} 4096.0\n\
             # HELP isobar_acts What was done\n# TYPE isobar_acts counter\nisobar_acts_total{kind=\"a\\\"\\\\\\\\nb\"} 3\n\
             # HELP isobar_cpu_seconds Time\n# TYPE isobar_cpu_seconds counter\n# UNIT isobar_cpu_seconds seconds\n\
             isobar_cpu_seconds_total 1.5\n\
             # HELP isobar_gain_ratio Gain\n# TYPE isobar_gain_ratio histogram\n# UNIT isobar_gain_ratio ratio\n\
             isobar_gain_ratio_sum 0.5\nisobar_gain_ratio_count 1\nisobar_gain_ratio_bucket{le=\"1.0\"} 1\n\
             isobar_gain_ratio_bucket{le=\"+Inf\"} 1\n# EOF\n"
        );
    }

    #[test]
    fn the_older_form_describes_counters_by_their_samples() {
        let text = write(families(), Form::Classic).unwrap();
        assert!(text.contains("# TYPE isobar_acts_total counter\nisobar_acts_total{"), "{text}");
        assert!(text.contains("# HELP isobar_cpu_seconds_total Time\n") && !text.contains("UNIT"), "{text}");
        assert!(!text.contains("EOF") && text.contains("# TYPE isobar_gain_ratio histogram\n"), "{text}");
    }

    #[test]
    fn a_client_says_what_it_reads() {
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Form::accepted(Some(prometheus)), Form::OpenMetrics);
        assert_eq!([Form::accepted(None), Form::accepted(Some("*/*"))], [Form::Classic; 2]);
    }
}
