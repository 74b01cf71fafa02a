"""How a cell opts out of the comparison of its outputs, and how many of a chapter may."""

# How many cells of a chapter may print something that is not compared. Raise it only with a good reason. Now: times and
# accuracies in the chapter on costs (2), accuracies in the one on relative positions (1), gradients, an alignment and
# accuracies in the one on the Transformer (3), weights, importances, accuracies and times in the one on heads (5). What
# a training gave is asserted there.
MOST_CELLS_NOT_COMPARED = 5
OPT_OUT = "# NBVAL_IGNORE_OUTPUT"
