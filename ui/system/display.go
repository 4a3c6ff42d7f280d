package system

import "countersign/internal/message"

// ErrNoDisplay is the plain answer when no window can be shown on this computer.
var ErrNoDisplay = message.Error(message.NoDisplay(), nil)
