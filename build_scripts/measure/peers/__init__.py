"""Other engines that decode the same model with the same prompts, and ours beside them, each
behind one seam: `engine.Engine`. The experiment that times them is `experiments.peers`."""
