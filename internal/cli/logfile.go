package cli

import (
	"log/slog"
	"os"
	"sync"

	"countersign/internal/disk"
)

// logLimit is the size in bytes at which the log starts anew; one older file is kept.
const logLimit = 4 << 20

// logFile is a log that cannot fill the disk. It is opened with the first line, also after Close. Safe for concurrent use.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// logger writes to l, with debug in detail.
func (l *logFile) logger(debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level}))
}

// Close gives the file back: on Windows nobody else can set it aside or remove it before.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

// ready opens the file, after setting a full one aside.
func (l *logFile) ready(more int64) error {
	if l.file != nil && l.size+more <= logLimit {
		return nil
	}
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	if info, err := os.Stat(l.path); err == nil && info.Size()+more > logLimit {
		if err := disk.Rename(l.path, l.path+".1"); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}
