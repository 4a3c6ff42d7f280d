package ui

import "countersign/ui/env"

// Office is the window's view of the agent; *agent.Agent is one. It is declared where the screens can reach it.
type Office = env.Office
