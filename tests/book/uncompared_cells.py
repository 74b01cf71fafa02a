"""How a cell opts out of the comparison of its outputs, and what is asked of it instead."""

# How many cells of a chapter may print something that is not compared. Most are in the chapter on what heads learn,
# where nearly everything is measured on trained models. What a training gave is bounded by an assertion near by; a
# time is bounded by nothing.
MOST_CELLS_NOT_COMPARED = 12
OPT_OUT = "# NBVAL_IGNORE_OUTPUT"
UNBOUNDED = ("Times differ", "A time is different", "What a trained model draws")
# Where times come from.
CLOCKS = {"time", "timeit", "Timer", "perf_counter", "monotonic", "process_time", "datetime"}
