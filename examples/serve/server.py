"""The loop of a server: requests wait in a queue, join a batch that is under way, and leave it when done.

    queue      r3 r4 …
    batch      r1 r2             a prompt goes first (prefill), then all of the batch make a token (decode)
    host       schedule | launch | wait for tokens | detokenise | schedule …
"""

SCHEDULE_US = 60  # what the host does between two iterations, where the clock is stepped
DETOKENISE_US = 4  # for each sequence


class Server:
    def __init__(self, engine, host, idle, requests, most):
        self._engine, self._host, self._idle = engine, host, idle
        self._coming, self._most = list(reversed(requests)), most
        self._queue, self._batch, self.done = [], [], []
        self.iterations = {"prefill": 0, "decode": 0}

    def run(self):
        self._begin_ns = self._host.now_ns()
        while self._coming or self._queue or self._batch:
            self._admit()
            if self._queue and len(self._batch) < self._most:
                self._prefill(self._queue.pop(0))
            elif self._batch:
                self._decode()
            else:
                self._idle(self._coming[-1].arrives_ns - self._elapsed_ns())
        return self._elapsed_ns()

    def _elapsed_ns(self):
        return self._host.now_ns() - self._begin_ns

    def _admit(self):
        while self._coming and self._coming[-1].arrives_ns <= self._elapsed_ns():
            request = self._coming.pop()
            request.end_range = self._host.begin_range(f"request {request.number}")
            self._queue.append(request)

    def _prefill(self, request):
        request.started_ns = self._elapsed_ns()
        self._host.worked(SCHEDULE_US)
        self._engine.prefill(request.prompt)
        self._engine.read_back(1)
        self._batch.append(request)
        request.first_token_ns = self._elapsed_ns()
        self._finish_iteration("prefill", [request])

    def _decode(self):
        self._host.worked(SCHEDULE_US)
        self._engine.decode(len(self._batch))
        self._engine.read_back(len(self._batch))
        self._finish_iteration("decode", self._batch)

    def _finish_iteration(self, kind, sequences):
        self.iterations[kind] += 1
        self._host.worked(DETOKENISE_US * len(sequences))
        for request in list(sequences):
            request.made += 1
            if request.made >= request.answer:
                request.ended_ns = self._elapsed_ns()
                request.end_range()
                self._batch.remove(request)
                self.done.append(request)
