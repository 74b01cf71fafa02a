"""How a cell opts out of the comparison of its outputs, and how many of a chapter may."""

# How many cells of a chapter may print something that is not compared. Raise it only with a good reason. Now: times in
# the chapter on heads as one layer (2), times and accuracies in the one on costs (3), accuracies in the one on relative
# positions, which prints what it measures and not a verdict (7), gradients, an alignment and accuracies in the one on
# the Transformer (3), weights, importances, accuracies and times in the one on what heads learn (5). What a training
# gave is asserted there.
MOST_CELLS_NOT_COMPARED = 7
OPT_OUT = "# NBVAL_IGNORE_OUTPUT"
