"""How figures are written."""


def figure(value):
    return "–" if value is None else f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def lines(heads, rows):
    return ["| " + " | ".join(cells) + " |" for cells in [heads, ["---"] * len(heads), *rows]]
