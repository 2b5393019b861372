//! The engine that sees a sample of a program's accesses, taken by the CPU itself (PEBS, IBS)
//! through perf events. The program runs natively, a few per cent slower by what is known about
//! such events; we have not measured it.

use crate::engine::{Engine, Job, Refusal, Traced, TracerError, Tracing};
use crate::finish;
use crate::samples::Samples;
use isobar_linux::kernel::move_pages;
use isobar_linux::sensors::CounterSource;
use isobar_linux::sensors::counters::pmu::DEVICES;
use isobar_linux::sensors::memory::program::Sampling;
use isobar_model::Pid;
use isobar_pages::trace::{End, Header, TraceError};
use isobar_tracer_plugin::placement;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// The page size for counting, whatever the actual size of the pages.
const PAGE_BYTES: u64 = 4096;
/// Number of pages per question where they are.
const BATCH: usize = 4096;
/// The beginning of a note that it is not known where pages are; the reason follows.
const NOT_PLACED: &str = "on which nodes the pages lay: move_pages";

/// The engine.
#[derive(Clone, Copy, Debug)]
pub struct Sampled;

impl Engine for Sampled {
    fn name(&self) -> &'static str {
        "perf"
    }

    fn about(&self) -> &'static str {
        "a part of the loads and stores, where the CPU samples addresses (Intel, AMD), hardly slower than without"
    }

    fn samples(&self) -> bool {
        true
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Tracing>, TracerError> {
        Ok(Box::new(Run::new(job, CounterSource::Auto, Path::new(DEVICES))?))
    }
}

/// A traced run.
struct Run {
    job: Job,
    command: Command,
    sampling: Sampling,
    header: Header,
    /// Created when samples are read for the first time: until then others may create the file.
    samples: Option<Samples<File>>,
    failed: Option<TraceError>,
    /// Number of nodes of this machine.
    nodes: u32,
    /// Why the kernel does not say where pages are.
    not_placed: Option<String>,
}

/// The node of each page of a process.
fn locate(pid: u32, pages: &[u64]) -> io::Result<Vec<Option<u16>>> {
    let mut found = Vec::with_capacity(pages.len());
    for batch in pages.chunks(BATCH) {
        let status = move_pages::locate(Pid(pid), batch, PAGE_BYTES)?;
        found.extend(status.into_iter().map(|status| u16::try_from(status).ok()));
    }
    Ok(found)
}

impl Run {
    fn new(job: &Job, counters: CounterSource, devices: &Path) -> Result<Self, TracerError> {
        let (first, arguments) = job.command.split_first().ok_or_else(|| TracerError::command(job, "no command"))?;
        let sampling = Sampling::of_next_program(counters, devices)
            .map_err(|missing| Refusal { why: missing.why, remedy: missing.remedy })?;
        let header = Header {
            engine: format!("perf ({})", sampling.name()),
            sampled: Some(sampling.period()),
            page_bytes: PAGE_BYTES,
            slice_ns: u64::try_from(job.slice.as_nanos()).unwrap_or(u64::MAX),
            command: job.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        };
        let mut command = Command::new(first);
        command.args(arguments);
        Ok(Self {
            job: job.clone(),
            command,
            sampling,
            header,
            samples: None,
            failed: None,
            nodes: placement::nodes(),
            not_placed: None,
        })
    }

    fn look(&mut self) -> Result<(), TraceError> {
        let samples = match &mut self.samples {
            Some(samples) => samples,
            none => {
                let file = OpenOptions::new().write(true).create(true).truncate(true).open(&self.job.file)?;
                none.insert(Samples::new(file, &self.header)?)
            }
        };
        self.sampling.drain(|of, record| samples.add(of, record));
        samples.write()?;
        if self.not_placed.is_none() {
            let placed = samples.place(self.nodes, locate)?;
            // Other errors mean that the program has ended meanwhile.
            let refused = |why: &io::Error| matches!(why.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported);
            self.not_placed = placed.err().filter(refused).map(|why| format!("{NOT_PLACED}: {why}"));
        }
        Ok(())
    }
}

impl Tracing for Run {
    fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    fn step(&mut self) {
        if self.failed.is_none() {
            self.failed = self.look().err();
        }
    }

    fn finish(mut self: Box<Self>, status: ExitStatus, ran: Duration) -> Result<Traced, TracerError> {
        self.step();
        let last = self.samples.as_mut().map(Samples::finish).transpose();
        let mut missing = match (self.failed.take(), last) {
            (Some(why), _) | (None, Err(why)) => return Err(TracerError::file(&self.job, why)),
            (None, Ok(missing)) => missing.unwrap_or_default(),
        };
        missing.extend(self.not_placed.take());
        let ran_ns = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
        finish::complete(&self.job, End { ran_ns, status: status.code(), missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_pages::PageProfile;

    /// Page faults, which every kernel has, stand in for samples.
    #[test]
    fn a_program_whose_pages_fault_is_traced() {
        let folder = tempfile::tempdir().unwrap();
        let command = ["sh", "-c", "x=$(head -c 400000 /dev/zero | tr '\\0' a); exec true"].map(Into::into).to_vec();
        let job = Job { file: folder.path().join("trace"), slice: Duration::from_millis(10), names: true, command };
        let mut run = match Run::new(&job, CounterSource::Software, Path::new(DEVICES)) {
            Ok(run) => Box::new(run),
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                return;
            }
        };
        let begun = std::time::Instant::now();
        let mut child = run.command().spawn().unwrap();
        let status = loop {
            run.step();
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
        };
        let traced = run.finish(status, begun.elapsed()).unwrap();
        assert_eq!((traced.end.status, traced.header.sampled), (Some(0), Some(1)));
        assert!(traced.accesses > 50 && traced.pages > 50 && traced.threads == 1, "{traced:?}");
        // The shell forked for the pipe, and then became another program.
        let missing = traced.end.missing.join("\n");
        assert!(missing.contains("forked") && missing.contains("exec"), "{missing}");
        let profile = PageProfile::read(std::fs::read(&job.file).unwrap().as_slice()).unwrap();
        // Pages that lived long enough to be asked about; none if the kernel refuses.
        if let Some(linux) = &profile.linux {
            assert!(linux.node_of.iter().flatten().count() > 5, "{linux:?}");
        } else {
            assert!(missing.contains(NOT_PLACED), "{missing}");
        }
        let names: Vec<_> = profile.structures.iter().map(|found| found.name.as_str()).collect();
        assert!(
            names.iter().any(|name| name.starts_with("lib") || name.starts_with("ld"))
                && names.contains(&"stack of T0"),
            "{names:?}"
        );
    }

    #[test]
    fn a_machine_without_sampling_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job {
            file: folder.path().join("trace"),
            slice: Duration::from_millis(10),
            names: true,
            command: vec!["true".into()],
        };
        let Err(TracerError::Refused(refusal)) = Run::new(&job, CounterSource::Auto, folder.path()) else {
            panic!("an empty folder has no events");
        };
        assert!(refusal.why.contains("cannot sample addresses") && refusal.remedy.contains("qemu-user"), "{refusal}");
        assert!(!job.file.exists());
    }
}
