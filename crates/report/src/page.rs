//! The page: style, script and figures in one file. The script draws everything from the figures;
//! without the script the words are still shown.

use serde::Serialize;
use std::fmt::Write;

const SKELETON: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");
/// What every page needs, in this order, before its own script.
const SHARED: [&str; 5] = [
    include_str!("assets/base.js"),
    include_str!("assets/page.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/heat.js"),
];
/// Scripts that show a run over time.
pub const RUN: [&str; 2] = [include_str!("assets/lanes.js"), include_str!("assets/run.js")];
/// The script that shows figures side by side.
pub const DOTS: &str = include_str!("assets/dots.js");

/// The figures and their kind, as they are stored in the page.
#[derive(Serialize)]
struct Document<'a, T> {
    kind: &'a str,
    #[serde(flatten)]
    data: &'a T,
}

/// A page as one file of HTML: its kind, its title, its summary in words, the script that shows its
/// figures, and the figures. The page requests nothing from a network, and tells the browser to
/// forbid it.
pub fn page(kind: &str, title: &str, words: &[String], script: &[&str], data: &impl Serialize) -> String {
    let words = words.iter().fold(String::new(), |mut words, line| {
        // Writing to a string cannot fail.
        let _ = writeln!(words, "<li>{}</li>", coded(&escaped(line)));
        words
    });
    let parts = [
        ("{{title}}", escaped(title)),
        ("{{style}}", STYLE.to_owned()),
        ("{{words}}", words),
        ("{{script}}", SHARED.concat() + &script.concat()),
        // The figures come last, because names in them may look like the other placeholders.
        ("{{data}}", embedded(&Document { kind, data })),
    ];
    let mut page = SKELETON.to_owned();
    for (name, part) in parts {
        page = page.replacen(name, &part, 1);
    }
    page
}

/// Marks words between backquotes as code.
fn coded(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let part =
        |(at, part): (usize, &&str)| if at % 2 == 1 { format!("<code>{part}</code>") } else { (*part).to_owned() };
    parts.iter().enumerate().map(part).collect()
}

/// Figures as JSON that no browser mistakes for the end of its script.
fn embedded(document: &impl Serialize) -> String {
    let text = serde_json::to_string(document).unwrap_or_else(|_| "{}".to_owned());
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Text that is safe between tags and in attributes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '{' => safe.push_str("&#123;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_name_leaves_its_place() {
        let evil = "</script><script>alert(1)</script>\"'&{{data}}";
        let page = page("study", evil, &[evil.to_owned()], &[], &json!({ "name": evil }));
        assert!(!page.contains("<script>alert") && page.matches("</script>").count() == 2, "{page}");
        let before_the_figures = page.split("application/json").next().unwrap_or_default();
        assert!(!before_the_figures.contains("{{"), "every part has found its place, and none was taken from a name");
        assert!(page.contains("\\u003cscript\\u003e"), "{page}");
    }

    #[test]
    fn what_is_typed_is_code() {
        assert_eq!(coded("take `mixed` or `a&lt;b`"), "take <code>mixed</code> or <code>a&lt;b</code>");
        assert_eq!(coded("one ` alone"), "one ` alone");
    }

    #[test]
    fn nothing_is_asked_of_a_network() {
        let page = page("recording", "", &[], &RUN, &json!({}));
        assert!(page.contains("default-src 'none'"));
        // Namespaces of SVG are names, not addresses that a browser fetches.
        let addresses = page.matches("http://").count() + page.matches("https://").count();
        assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count());
    }
}
