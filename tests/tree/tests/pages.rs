//! Checks that the pages of this tree name only things that exist, and that prose keeps to 100
//! columns.
//!
//! The checks know how Markdown marks code and links. They do not know what a sentence means: a
//! path that exists may still be the wrong one.

#![allow(clippy::unwrap_used, clippy::panic)]

use isobar_tree::crates::root;
use std::collections::BTreeSet;
use std::path::Path;

/// Maximum length of a line of prose, in characters.
const COLUMNS: usize = 100;

/// Where comments may still be longer. An entry without a long line is out of date, and fails.
const LONG_LINES: [&str; 1] = ["tests/fuzzed/seeds"];

/// Endings by which a word in backticks is recognised as a file.
const ENDINGS: [&str; 6] = [".rs", ".md", ".sh", ".c", ".h", ".patch"];

/// Every file and folder of the tree, relative to its root, without build output.
fn tree() -> Vec<String> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if [".git", "target", "fuzz/target", "fuzz/corpus", "python/target"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                walk(root, &path, found);
            }
            found.push(name);
        }
    }
    let mut found = Vec::new();
    walk(&root(), &root(), &mut found);
    found.sort();
    found
}

fn text(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_default()
}

fn pages() -> Vec<String> {
    tree().into_iter().filter(|name| name.ends_with(".md")).collect()
}

/// Pages that describe the tree as it is. The changelog is not one of them, because it may name
/// things that are gone.
fn maps() -> Vec<String> {
    let of_the_tree = |name: &String| name != "CHANGELOG.md";
    pages().into_iter().filter(of_the_tree).collect()
}

/// The lines of a page outside code blocks, with their numbers from 1.
fn prose(page: &str) -> Vec<(usize, &str)> {
    let mut code = false;
    let outside = |(at, line): (usize, &'_ str)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        (!code && !fence).then_some(at + 1)
    };
    let numbers: Vec<Option<usize>> = page.lines().enumerate().map(outside).collect();
    page.lines().zip(numbers).filter_map(|(line, number)| Some((number?, line))).collect()
}

/// The words in backticks, each with its line number and the folder named by the nearest heading
/// above.
fn quoted(page: &str) -> Vec<(usize, String, String)> {
    let mut folder = String::new();
    let mut found = Vec::new();
    for (number, line) in prose(page) {
        let words: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
        if line.starts_with('#') {
            folder = words.first().map_or_else(String::new, |word| (*word).to_owned());
        }
        found.extend(words.iter().map(|word| (number, (*word).to_owned(), folder.clone())));
    }
    found
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expanded(word: &str) -> Vec<String> {
    let parts = word.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    let Some((head, (choices, tail))) = parts else { return vec![word.to_owned()] };
    choices.split(',').flat_map(|choice| expanded(&format!("{head}{choice}{tail}"))).collect()
}

/// Whether a path matches a pattern in which `*` stands for any characters except `/`.
fn fits(path: &str, pattern: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return path == pattern };
    let Some(left) = path.strip_prefix(head) else { return false };
    let here = left.find('/').unwrap_or(left.len());
    (0..=here).any(|at| left.is_char_boundary(at) && fits(&left[at..], rest))
}

/// Whether a word in backticks is a path of this tree: it begins with one of its folders, or has
/// the ending of a source file or page.
fn is_path(word: &str, tree: &[String]) -> bool {
    let plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./{},*".contains(letter));
    let first = word.split('/').next().unwrap();
    let of_ours = word.contains('/') && tree.iter().any(|name| name == first);
    plain && (of_ours || ENDINGS.iter().any(|ending| word.ends_with(ending)))
}

/// Whether the tree has a path: from its root, from the page, or anywhere below the folder that the
/// heading names (anywhere at all, if it names none).
fn exists(path: &str, page: &str, folder: &str, tree: &[String]) -> bool {
    let path = path.trim_end_matches('/');
    let beside = Path::new(page).parent().unwrap().join(path).to_string_lossy().into_owned();
    let below = |name: &String| {
        let inside = if folder.contains('/') { name.strip_prefix(folder) } else { Some(name.as_str()) };
        inside.is_some_and(|inside| {
            inside.match_indices('/').any(|(at, _)| fits(&inside[at + 1..], path)) || fits(inside, path)
        })
    };
    tree.iter().any(|name| fits(name, path) || *name == beside || below(name))
}

#[test]
fn paths_in_pages_exist() {
    let tree = tree();
    let mut wrong = Vec::new();
    for page in maps() {
        for (number, word, folder) in quoted(&text(&page)) {
            let missing = |path: &String| is_path(path, &tree) && !exists(path, &page, &folder, &tree);
            wrong.extend(expanded(&word).into_iter().filter(missing).map(|path| format!("{page}:{number}: {path}")));
        }
    }
    assert!(wrong.is_empty(), "pages name what does not exist:\n{}", wrong.join("\n"));
}

/// The identifiers of `model::num` or `Plan::validate`, which are joined by `::`.
fn segments(word: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = word.trim_end_matches("()").split("::").collect();
    let name = |part: &&str| {
        let letters = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !part.is_empty() && part.chars().all(letters)
    };
    (parts.len() > 1 && parts.iter().all(name)).then_some(parts)
}

/// Whether a source file, by its content or its path, is about a module, crate or type with this
/// name.
fn is_about(file: &str, words: &[&str], name: &str) -> bool {
    let short = name.trim_start_matches("isobar_").replace('_', "-");
    let defines =
        |pair: &[&str]| ["struct", "enum", "trait", "type", "mod", "impl"].contains(&pair[0]) && pair[1] == name;
    file.trim_end_matches(".rs").split('/').any(|part| part == name || part == short) || words.windows(2).any(defines)
}

fn words(source: &str) -> Vec<&str> {
    source.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').filter(|w| !w.is_empty()).collect()
}

#[test]
fn items_in_pages_exist() {
    let tree = tree();
    let files: Vec<(&String, String)> =
        tree.iter().filter(|name| name.ends_with(".rs")).map(|name| (name, text(name))).collect();
    let sources: Vec<(&str, Vec<&str>)> = files.iter().map(|(name, text)| (name.as_str(), words(text))).collect();
    let mut wrong = Vec::new();
    for page in maps() {
        for (number, word, _) in quoted(&text(&page)) {
            let Some(parts) = segments(&word) else { continue };
            let (first, last) = (parts[0], parts[parts.len() - 1]);
            let has = |(file, words): &(&str, Vec<&str>)| is_about(file, words, first) && words.contains(&last);
            if first != "std" && !sources.iter().any(has) {
                wrong.push(format!("{page}:{number}: {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "pages name items that no source has:\n{}", wrong.join("\n"));
}

/// The targets of the Markdown links in a line.
fn links(line: &str) -> Vec<&str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

#[test]
fn links_resolve() {
    let mut wrong = Vec::new();
    for page in pages() {
        let here = root().join(&page);
        for (number, line) in prose(&text(&page)) {
            let local = |target: &&str| !target.contains("://") && !target.starts_with('#');
            for target in links(line).into_iter().filter(local) {
                let file = target.split('#').next().unwrap();
                if !here.parent().unwrap().join(file).exists() {
                    wrong.push(format!("{page}:{number}: {target}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "links lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn the_index_of_the_design_has_every_page() {
    let index = text("docs/design/README.md");
    let linked: BTreeSet<&str> = index.lines().flat_map(links).collect();
    let of_design = |name: &String| Some(name.strip_prefix("docs/design/")?.to_owned());
    let missing: Vec<String> = pages().iter().filter_map(of_design).filter(|page| page != "README.md").collect();
    let missing: Vec<&String> = missing.iter().filter(|page| !linked.contains(page.as_str())).collect();
    assert!(missing.is_empty(), "docs/design/README.md does not link {missing:?}");
}

/// Numbers of the lines of prose that are too long: comments of a source file, paragraphs of a
/// page. Tables, links and code blocks may be wider, because they cannot be broken.
fn too_long(name: &str) -> Vec<usize> {
    let marks: &[&str] = match name.rsplit('.').next().unwrap() {
        "rs" => &["//"],
        "c" | "h" => &["//", "/*", "* "],
        "md" => &[""],
        "sh" | "toml" | "yml" => &["# "],
        _ if name == ".ci/run" => &["# "],
        _ => return Vec::new(),
    };
    let source = text(name);
    let page = name.ends_with(".md");
    let lines: Vec<(usize, &str)> =
        if page { prose(&source) } else { source.lines().enumerate().map(|(at, line)| (at + 1, line)).collect() };
    let long = |(_, line): &(usize, &str)| {
        let body = line.trim_start();
        let comment = marks.iter().any(|mark| body.starts_with(mark));
        let whole =
            body.contains("](") || body.contains("://") || body.trim_start_matches(['/', '!', ' ']).starts_with('|');
        comment && !whole && line.chars().count() > COLUMNS
    };
    lines.iter().filter(|line| long(line)).map(|(number, _)| *number).collect()
}

#[test]
fn prose_keeps_to_its_columns() {
    let excepted = |name: &str| LONG_LINES.iter().find(|long| name == **long || name.starts_with(&format!("{long}/")));
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for name in tree() {
        let long = too_long(&name);
        match excepted(&name) {
            Some(exception) if !long.is_empty() => drop(used.insert(*exception)),
            Some(_) => {}
            None => wrong.extend(long.iter().map(|number| format!("{name}:{number}"))),
        }
    }
    assert!(wrong.is_empty(), "prose of more than {COLUMNS} columns:\n{}", wrong.join("\n"));
    let outdated: Vec<_> = LONG_LINES.iter().filter(|name| !used.contains(**name)).collect();
    assert!(outdated.is_empty(), "exceptions without a long line, remove them: {outdated:?}");
}

#[test]
fn the_checks_see_what_they_should() {
    assert_eq!(expanded("a/{b,c}.rs"), ["a/b.rs", "a/c.rs"]);
    assert!(fits("tests/actuators_pages.rs", "tests/actuators_*.rs") && !fits("a/b/c.rs", "a/*.rs"));
    assert_eq!(segments("model::num"), Some(vec!["model", "num"]));
    assert_eq!(segments("let x = 1"), None);
    assert_eq!(links("[a](b.md) and [c](d.md#e)"), ["b.md", "d.md#e"]);
    assert_eq!(prose("a\n```\nb\n```\nc"), [(1, "a"), (5, "c")]);
    let tree = ["crates", "crates/model", "crates/model/src/num.rs"].map(str::to_owned);
    assert!(is_path("num.rs", &tree) && is_path("crates/x", &tree) && !is_path("manage --policy", &tree));
    assert!(exists("num.rs", "A.md", "crates/model", &tree) && !exists("num.rs", "A.md", "crates/sim", &tree));
}
