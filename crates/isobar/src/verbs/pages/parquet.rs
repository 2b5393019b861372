//! `isobar pages FILE --export parquet TO`: writes the accesses as a Parquet file, with a row for
//! each thread and page and, if the file has time slices, for each slice. Rows are written in
//! groups, so that a trace may be larger than memory.

use super::source::Source;
use ::parquet::basic::Compression;
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use isobar_model::num;
use isobar_pages::PageProfile;
use isobar_pages::trace::{Rows, View};
use std::io::Write;
use std::sync::Arc;

/// The columns, which docs/pages.md describes. Integers are unsigned.
const COLUMNS: &str = "message accesses {
    optional int64 slice (integer(64,false));
    optional int64 begin_ns (integer(64,false));
    required int32 thread (integer(32,false));
    required int64 page_address (integer(64,false));
    optional int64 loads (integer(64,false));
    optional int64 stores (integer(64,false));
    required int64 accesses (integer(64,false));
    required int32 first_touch_thread (integer(32,false));
    required binary structure (string);
}";
/// Number of rows at which a group is written, which takes about 60 MB of memory.
const GROUP: usize = 1 << 20;

/// Writes the accesses of a file.
///
/// # Errors
/// Errors of reading the slices again, and of the writer.
pub fn write(source: &Source, to: impl Write + Send) -> anyhow::Result<()> {
    write_in_groups(source, to, GROUP)
}

fn write_in_groups(source: &Source, to: impl Write + Send, of: usize) -> anyhow::Result<()> {
    let mut table = Table::new(&source.profile, to, of)?;
    let timed = source.slices(|view| table.slice(view))?;
    if !timed {
        table.whole_run()?;
    }
    Ok(table.finish()?)
}

struct Table<'a, W: Write + Send> {
    profile: &'a PageProfile,
    names: Vec<ByteArray>,
    /// Page numbers, ascending, with their positions in the profile.
    positions: Vec<(u64, usize)>,
    group: Group,
    /// Number of rows at which a group is written.
    most: usize,
    file: SerializedFileWriter<W>,
}

/// Rows that are not written yet. Slices, loads and stores are either known for all rows or null
/// for all.
#[derive(Default)]
struct Group {
    slices: Vec<i64>,
    begins: Vec<i64>,
    threads: Vec<i32>,
    pages: Vec<i64>,
    loads: Vec<i64>,
    stores: Vec<i64>,
    accesses: Vec<i64>,
    first: Vec<i32>,
    structures: Vec<ByteArray>,
}

impl<'a, W: Write + Send> Table<'a, W> {
    fn new(profile: &'a PageProfile, to: W, most: usize) -> Result<Self> {
        let header = &profile.header;
        let word = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let mut about = vec![
            word("engine", header.engine.clone()),
            word("page_bytes", header.page_bytes.to_string()),
            word("slice_ns", header.slice_ns.to_string()),
            word("command", serde_json::json!(header.command).to_string()),
        ];
        about.extend(header.sampled.map(|one_in| word("sampled", one_in.to_string())));
        let properties =
            WriterProperties::builder().set_compression(Compression::SNAPPY).set_key_value_metadata(Some(about));
        let mut positions: Vec<(u64, usize)> =
            (0..).zip(profile.usage.pages()).map(|(at, page)| (page.number, at)).collect();
        positions.sort_unstable();
        let names = profile.structures.iter().map(|of| ByteArray::from(of.name.as_str()));
        Ok(Self {
            profile,
            names: names.collect(),
            positions,
            group: Group::default(),
            most,
            file: SerializedFileWriter::new(to, Arc::new(parse_message_type(COLUMNS)?), Arc::new(properties.build()))?,
        })
    }

    /// Adds a slice, or a part of one.
    fn slice(&mut self, view: &View<'_>) -> anyhow::Result<()> {
        let begin = view.number.saturating_mul(self.profile.header.slice_ns);
        let mut rows = Adding { table: self, slice: view.number, begin, page: 0, first: 0, name: ByteArray::from("") };
        view.show(&mut rows).map_err(anyhow::Error::msg)?;
        if self.group.threads.len() >= self.most { Ok(self.flush()?) } else { Ok(()) }
    }

    /// Adds the accesses of the whole run, for which loads and stores are not distinguished.
    fn whole_run(&mut self) -> Result<()> {
        for (at, (page, counts)) in self.profile.usage.rows().enumerate() {
            let name = self.name(at);
            for (thread, accesses) in (0..).zip(counts).filter(|(_, accesses)| **accesses > 0) {
                let address = page.number.saturating_mul(self.profile.header.page_bytes);
                self.group.push(address, thread, *accesses, page.first, &name);
            }
            if self.group.threads.len() >= self.most {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn name(&self, at: usize) -> ByteArray {
        let structure = self.profile.structure_of.get(at).map(|of| num::index(*of));
        structure.and_then(|of| self.names.get(of)).cloned().unwrap_or_else(|| ByteArray::from("unknown"))
    }

    fn flush(&mut self) -> Result<()> {
        if self.group.threads.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        self.group.write(&mut group)?;
        group.close()?;
        self.group = Group::default();
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.file.close().map(drop)
    }
}

impl Group {
    fn push(&mut self, address: u64, thread: u32, accesses: u64, first: u32, structure: &ByteArray) {
        self.threads.push(thread.cast_signed());
        self.pages.push(address.cast_signed());
        self.accesses.push(accesses.cast_signed());
        self.first.push(first.cast_signed());
        self.structures.push(structure.clone());
    }

    fn write<W: Write + Send>(&self, to: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        let rows = self.threads.len();
        column::<Int64Type, W>(to, &self.slices, Some(rows))?;
        column::<Int64Type, W>(to, &self.begins, Some(rows))?;
        column::<Int32Type, W>(to, &self.threads, None)?;
        column::<Int64Type, W>(to, &self.pages, None)?;
        column::<Int64Type, W>(to, &self.loads, Some(rows))?;
        column::<Int64Type, W>(to, &self.stores, Some(rows))?;
        column::<Int64Type, W>(to, &self.accesses, None)?;
        column::<Int32Type, W>(to, &self.first, None)?;
        column::<ByteArrayType, W>(to, &self.structures, None)
    }
}

/// Writes the next column. A column that may be null gets a definition level for each row.
fn column<T: DataType, W: Write + Send>(
    to: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    nullable: Option<usize>,
) -> Result<()> {
    let Some(mut column) = to.next_column()? else { return Ok(()) };
    let there = nullable.map(|rows| vec![i16::from(!values.is_empty()); rows]);
    column.typed::<T>().write_batch(values, there.as_deref(), None)?;
    column.close()
}

/// Adds the rows of a slice.
struct Adding<'a, 'b, W: Write + Send> {
    table: &'a mut Table<'b, W>,
    slice: u64,
    begin: u64,
    page: u64,
    first: u32,
    name: ByteArray,
}

impl<W: Write + Send> Rows for Adding<'_, '_, W> {
    fn page(&mut self, page: u64) -> std::result::Result<(), &'static str> {
        let table = &self.table;
        let at = table.positions.binary_search_by_key(&page, |(number, _)| *number).ok();
        let at = at.and_then(|at| table.positions.get(at)).map(|(_, at)| *at);
        // A page that was added to the file after it was first read belongs to no structure.
        let known = at.and_then(|at| table.profile.usage.pages().get(at));
        self.page = page.saturating_mul(table.profile.header.page_bytes);
        (self.first, self.name) = (known.map_or(0, |page| page.first), table.name(at.unwrap_or(usize::MAX)));
        Ok(())
    }

    fn row(&mut self, thread: u32, loads: u64, stores: u64) -> std::result::Result<(), &'static str> {
        let group = &mut self.table.group;
        group.slices.push(self.slice.cast_signed());
        group.begins.push(self.begin.cast_signed());
        group.loads.push(loads.cast_signed());
        group.stores.push(stores.cast_signed());
        group.push(self.page, thread, loads.saturating_add(stores), self.first, &self.name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::pages::source;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    use isobar_pages::trace::{End, FirstTouch, Header, Region, RegionKind, Row, Slice, Writer};
    use std::fs::File;
    use std::path::Path;

    /// The rows of a file as read by the library, and in how many groups they are stored.
    fn read_back(path: &Path) -> (Vec<Vec<Field>>, usize, String) {
        let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let about = format!("{:?}", file.metadata().file_metadata().key_value_metadata());
        let rows = file.get_row_iter(None).unwrap();
        let fields = rows.map(|row| row.unwrap().into_columns().into_iter().map(|(_, field)| field).collect());
        (fields.collect(), file.num_row_groups(), about)
    }

    fn exported(bytes: &[u8], of: usize) -> (Vec<Vec<Field>>, usize, String) {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::write(&from, bytes).unwrap();
        write_in_groups(&source::read(&from).unwrap(), File::create(&to).unwrap(), of).unwrap();
        read_back(&to)
    }

    fn trace(slices: u64, pages: u64) -> Vec<u8> {
        let header = Header {
            engine: "test".into(),
            sampled: Some(7),
            page_bytes: 4096,
            slice_ns: 10,
            command: vec!["a b".into()],
        };
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        writer.region(&Region { start: 0x2000, end: 0x3000, kind: RegionKind::Heap }).unwrap();
        for number in 0..slices {
            let row = |page| Row { page: 2 + page, thread: 3, loads: u64::MAX - page, stores: number };
            let first = if number == 0 { vec![FirstTouch { page: 2, thread: 1 }] } else { Vec::new() };
            writer.slice(&Slice { number: number * 5, first, rows: (0..pages).map(row).collect() }).unwrap();
        }
        writer.end(&End { ran_ns: 1, status: Some(0), missing: Vec::new() }).unwrap();
        writer.into_inner()
    }

    #[test]
    fn every_row_of_a_trace_comes_back() {
        let (rows, groups, about) = exported(&trace(2, 2), GROUP);
        let expected = |slice: u64, page: u64, first: u32, structure: &str| {
            let (loads, stores) = (u64::MAX - page, slice / 5);
            let accesses = loads.saturating_add(stores);
            [slice, slice * 10]
                .map(Field::ULong)
                .into_iter()
                .chain([Field::UInt(3), Field::ULong((2 + page) * 4096)])
                .chain([loads, stores, accesses].map(Field::ULong))
                .chain([Field::UInt(first), Field::Str(structure.to_owned())])
                .collect::<Vec<_>>()
        };
        let all = [
            expected(0, 0, 1, "heap"),
            expected(0, 1, 3, "unknown"),
            expected(5, 0, 1, "heap"),
            expected(5, 1, 3, "unknown"),
        ];
        assert_eq!((rows, groups), (all.to_vec(), 1));
        for word in [r#""engine", value: Some("test")"#, r#""sampled", value: Some("7")"#, r#"["a b"]"#] {
            assert!(about.contains(word) || about.contains(&word.replace('"', "\\\"")), "{about}");
        }
    }

    #[test]
    fn a_long_trace_is_written_in_groups() {
        let (rows, groups, _) = exported(&trace(5, 3), 10);
        assert_eq!((rows.len(), groups), (15, 2));
    }

    #[test]
    fn without_slices_they_and_loads_are_null() {
        let (rows, ..) = exported(include_bytes!("../../../../../examples/pages/matmul.csv"), GROUP);
        let profile = isobar_pages::open(&include_bytes!("../../../../../examples/pages/matmul.csv")[..]).unwrap();
        let counts: Vec<Field> = profile
            .usage
            .rows()
            .flat_map(|(_, row)| row)
            .filter(|count| **count > 0)
            .map(|count| Field::ULong(*count))
            .collect();
        assert_eq!(rows.iter().map(|row| row[6].clone()).collect::<Vec<_>>(), counts);
        assert!(rows.iter().all(|row| [0, 1, 4, 5].iter().all(|at| row[*at] == Field::Null)));
        let (none, groups, _) = exported(&trace(0, 0), GROUP);
        assert_eq!((none.len(), groups), (0, 0));
    }
}
