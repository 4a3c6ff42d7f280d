package single

import "golang.org/x/sys/unix"

// peerUID is the user at the other end of a socket when it connected or listened (SO_PEERCRED, unix(7)).
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
