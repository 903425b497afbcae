"""Threads of a test that work for as long as it is in a block."""

import threading


class Workers:
    """From entering it to leaving it, each of `works` (a function and its arguments) runs in a thread, until `over` is set. What one of them ends with,
    a failure of the test, is among `failures`. A subclass sets `works`."""

    def __init__(self):
        self.works, self.threads = [], []
        self.failures = []

    def __enter__(self):
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._work, args=work, daemon=True) for work in self.works]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _work(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as failure:  # told at the end of the test
            self.failures.append(f"{type(self).__name__} gave up: {failure!r}")
