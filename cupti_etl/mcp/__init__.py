"""A trace for agents: tools of the Model Context Protocol."""
