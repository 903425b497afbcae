"""Commands as somebody sees them who types them."""

import fcntl
import os
import pty
import struct
import subprocess
import termios


def on_terminal(*command, typed="", columns=80, **environment):
    """What somebody sees who types the command, and the answers to what it asks."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([str(part) for part in command], stdin=end, stdout=end, stderr=end, env={**os.environ, **environment})
    os.close(end)
    os.write(terminal, typed.encode() + b"\x04")  # and no more
    seen = b""
    try:
        while part := os.read(terminal, 65536):
            seen += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(terminal)
    return process.wait(60), seen.decode().replace("\r\n", "\n")
