//! The page: style, script and figures in one file. The script makes all that is seen from the
//! figures; without it the words are still there.

use crate::data::Report;
use std::fmt::Write;

const SKELETON: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: [&str; 5] = [
    include_str!("assets/base.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/lanes.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/main.js"),
];

impl Report {
    /// The page as one file of HTML. It asks no network for anything, and says so to the browser.
    #[must_use]
    pub fn html(&self) -> String {
        let words = self.summary.iter().fold(String::new(), |mut words, line| {
            // Writing to a text cannot fail.
            let _ = writeln!(words, "<li>{}</li>", escaped(line));
            words
        });
        let parts = [
            ("{{title}}", escaped(&self.head.title)),
            ("{{style}}", STYLE.to_owned()),
            ("{{words}}", words),
            ("{{script}}", SCRIPT.concat()),
            // The last, since names in it may look like the others.
            ("{{data}}", self.embedded()),
        ];
        let mut page = SKELETON.to_owned();
        for (name, part) in parts {
            page = page.replacen(name, &part, 1);
        }
        page
    }

    /// The figures as JSON that no browser takes for the end of its script.
    fn embedded(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned());
        text.replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029")
    }
}

/// Text that may stand between tags and in attributes.
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
    use crate::data::{Head, Program};

    #[test]
    fn no_name_leaves_its_place() {
        let evil = "</script><script>alert(1)</script>\"'&{{data}}";
        let program = Program { name: evil.into(), ..Program::default() };
        let head = Head { title: evil.into(), ..Head::default() };
        let page = Report { head, summary: vec![evil.into()], programs: vec![program], ..Report::default() }.html();
        assert!(!page.contains("<script>alert") && page.matches("</script>").count() == 2, "{page}");
        let before_the_figures = page.split("application/json").next().unwrap_or_default();
        assert!(!before_the_figures.contains("{{"), "every part has found its place, and none was taken from a name");
        assert!(page.contains("\\u003cscript\\u003e"), "{page}");
    }

    #[test]
    fn nothing_is_asked_of_a_network() {
        let page = Report::default().html();
        assert!(page.contains("default-src 'none'"));
        // Namespaces of SVG are names, not addresses that are fetched.
        let addresses = page.matches("http://").count() + page.matches("https://").count();
        assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count());
    }
}
