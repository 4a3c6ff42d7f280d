// Package office has the office's records and the rules about them: its packages and the people who sign them, drafts,
// saved files, settings and the one judgement of settings. It does no I/O and keeps nothing; the store keeps the records,
// the agent works with them, and the window and the commands show them.
package office
