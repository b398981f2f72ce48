from xdsl.universe import Universe

TIRAX_UNIVERSE = Universe()
