package ui

import "countersign/internal/agent"

var _ Office = (*agent.Agent)(nil) // the window fits the agent as it is
