"""The colours of plots and pages."""

INK, GREY, BLUE, ORANGE, GREEN = "#222222", "#9a9a9a", "#1f6fb2", "#d1601f", "#2f8f5b"
# Distinct in brightness as well as in hue; each has a marker, so that colour is not needed.
COLOURS = (BLUE, ORANGE, GREEN, "#8a4fa3", "#b8860b", "#17899b", "#c0447a", "#6b6b6b")
MARKERS = "osD^vP*X"
