"""A terminal's frame as a page: reads what `tmux capture-pane -e -p` prints, with its colours, and
prints HTML that a browser takes a picture of. It knows the sequences that isobar's frames use:
bold, dim, reversed, the 16 colours, and back."""

import html
import re
import sys

COLOURS = [
    "#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
    "#5c6370", "#ff7b86", "#b5e890", "#ffd68a", "#82c4ff", "#e0a0f5", "#7fd8e0", "#ffffff",
]
INK, PAPER = "#d8dee9", "#16191f"
PAGE = f"""<!DOCTYPE html><meta charset="utf-8"><style>
body {{ margin: 0; background: {PAPER}; }}
pre {{ margin: 0; padding: 10px 12px; color: {INK}; font: 14px/17px "DejaVu Sans Mono", monospace; }}
</style><pre>"""


def colour(codes):
    """The colour that `38;5;N` names, and what is left of the codes."""
    return COLOURS[int(codes[2]) % len(COLOURS)], codes[3:]


def after(style, codes):
    """The style after a sequence."""
    style = dict(style)
    while codes:
        code = int(codes[0] or 0)
        if code in (38, 48):
            style["fore" if code == 38 else "back"], codes = colour(codes)
            continue
        if code == 0:
            style = {}
        elif code in (1, 2, 7):
            style[{1: "bold", 2: "dim", 7: "reversed"}[code]] = True
        elif code in (22, 27):
            for key in ("bold", "dim") if code == 22 else ("reversed",):
                style.pop(key, None)
        elif code in (39, 49):
            style.pop("fore" if code == 39 else "back", None)
        elif 30 <= code <= 37:
            style["fore"] = COLOURS[code - 30]
        elif 40 <= code <= 47:
            style["back"] = COLOURS[code - 40]
        codes = codes[1:]
    return style


def css(style):
    fore, back = style.get("fore", INK), style.get("back")
    if style.get("reversed"):
        fore, back = back or PAPER, fore
    parts = [f"color:{fore}"]
    parts += [f"background:{back}"] if back else []
    parts += ["font-weight:bold"] if style.get("bold") else []
    parts += ["opacity:.6"] if style.get("dim") else []
    return ";".join(parts)


def page(text):
    style, out = {}, [PAGE]
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        if part.startswith("\x1b["):
            style = after(style, part[2:-1].split(";"))
        elif part:
            out.append(f'<span style="{css(style)}">{html.escape(part)}</span>')
    return "".join(out) + "</pre>"


if __name__ == "__main__":
    print(page(sys.stdin.read().rstrip("\n")))
