//! Writes rows as Parquet, in groups, so that a recording may be larger than memory.

use super::rows::{self, Row};
use crate::past::Past;
use ::parquet::basic::Compression;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use isobar_view::Moment;
use std::io::Write;
use std::sync::Arc;

/// The columns, which docs/recordings.md describes. Counts are unsigned.
const COLUMNS: &str = "message threads {
    required int64 epoch (integer(64,false));
    required double seconds;
    required int32 pid (integer(32,false));
    required binary name (string);
    required int32 tid (integer(32,false));
    optional int32 cpu (integer(32,false));
    optional int32 llc (integer(32,false));
    optional int32 node (integer(32,false));
    required boolean managed;
    optional double cpu_seconds;
    optional int64 instructions (integer(64,false));
    optional int64 cycles (integer(64,false));
    optional int64 llc_references (integer(64,false));
    optional int64 llc_misses (integer(64,false));
    optional int64 cache_transfers (integer(64,false));
    optional double bytes_per_second;
}";
/// Number of rows at which a group is written.
const GROUP: usize = 1 << 18;

/// Writes all rows.
///
/// # Errors
/// A damaged recording, and errors of the writer.
pub fn write(past: &mut Past, to: impl Write + Send) -> anyhow::Result<u64> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(to, Arc::new(parse_message_type(COLUMNS)?), Arc::new(properties))?;
    let (mut group, mut epochs) = (Group::default(), 0);
    while past.next(&mut |moment| {
        epochs += 1;
        group.take(moment);
    })? {
        if group.epoch.len() >= GROUP {
            std::mem::take(&mut group).write(&mut file)?;
        }
    }
    group.write(&mut file)?;
    file.close()?;
    Ok(epochs)
}

/// Rows that are not written yet, stored by column.
#[derive(Default)]
struct Group {
    epoch: Vec<i64>,
    seconds: Vec<f64>,
    pid: Vec<i32>,
    name: Vec<ByteArray>,
    tid: Vec<i32>,
    places: [Vec<Option<i32>>; 3],
    managed: Vec<bool>,
    cpu_seconds: Vec<Option<f64>>,
    counts: [Vec<Option<i64>>; 5],
    bytes_per_second: Vec<Option<f64>>,
}

impl Group {
    fn take(&mut self, moment: &Moment<'_>) {
        rows::of(moment).for_each(|row| self.push(&row));
    }

    fn push(&mut self, row: &Row<'_>) {
        self.epoch.push(row.epoch.cast_signed());
        self.seconds.push(row.seconds);
        self.pid.push(row.pid.0.cast_signed());
        self.name.push(ByteArray::from(row.name));
        self.tid.push(row.tid.0.cast_signed());
        for (column, place) in self.places.iter_mut().zip([row.cpu, row.llc, row.node]) {
            column.push(place.map(u32::cast_signed));
        }
        self.managed.push(row.managed);
        self.cpu_seconds.push(row.cpu_seconds);
        let counts = [row.instructions, row.cycles, row.llc_references, row.llc_misses, row.cache_transfers];
        for (column, count) in self.counts.iter_mut().zip(counts) {
            column.push(count.map(u64::cast_signed));
        }
        self.bytes_per_second.push(row.bytes_per_second);
    }

    fn write<W: Write + Send>(&self, file: &mut SerializedFileWriter<W>) -> Result<()> {
        let mut group = file.next_row_group()?;
        all::<Int64Type, W>(&mut group, &self.epoch)?;
        all::<DoubleType, W>(&mut group, &self.seconds)?;
        all::<Int32Type, W>(&mut group, &self.pid)?;
        all::<ByteArrayType, W>(&mut group, &self.name)?;
        all::<Int32Type, W>(&mut group, &self.tid)?;
        for column in &self.places {
            some::<Int32Type, W>(&mut group, column)?;
        }
        all::<BoolType, W>(&mut group, &self.managed)?;
        some::<DoubleType, W>(&mut group, &self.cpu_seconds)?;
        for column in &self.counts {
            some::<Int64Type, W>(&mut group, column)?;
        }
        some::<DoubleType, W>(&mut group, &self.bytes_per_second)?;
        group.close().map(drop)
    }
}

/// A column in which every row has a value.
fn all<T: DataType, W: Write + Send>(group: &mut SerializedRowGroupWriter<'_, W>, values: &[T::T]) -> Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// A column in which a row may have no value.
fn some<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[Option<T::T>],
) -> Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.iter().flatten().cloned().collect();
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()
}
