package ui

import "countersign/ui/desk"

// Office is the window's view of the agent; *agent.Agent is one. It is declared where the screens can reach it.
type Office = desk.Office
