"""The kinds of physics case that `firmware_sim.check_physics` can work out, each through the functions the plant uses."""
