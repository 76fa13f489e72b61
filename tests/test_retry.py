"""What may succeed the next time is tried again, as long and as often as is decent."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from connectors.base import Meter
from connectors.errors import DeliveryError
from connectors.retry import Transient, persist, seconds


def persisted(errors: list[Exception], **options: int) -> tuple[str, Meter, list[float]]:
    """Return what came out of a call that fails with each of the errors first, and the waits."""
    meter, waits = Meter(), list[float]()

    def call() -> str:
        if errors:
            raise errors.pop(0)
        return "done"

    result = persist(call, meter=meter, what="s3://acme/x", sleep=waits.append, **options)
    return result, meter, waits


def refusal(errors: list[Exception], **options: int) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        persisted(errors, **options)
    return caught.value


def test_what_succeeds_is_called_once() -> None:
    result, meter, waits = persisted([])
    assert (result, meter.retries, waits) == ("done", 0, [])


def test_a_failure_that_passes_is_tried_again() -> None:
    result, meter, waits = persisted([Transient("503"), Transient("reset")])
    assert (result, meter.retries, len(waits)) == ("done", 2, 2)


def test_the_last_try_names_its_cause_and_waits_no_more() -> None:
    errors: list[Exception] = [Transient(f"reset {n}") for n in range(9)]
    error = refusal(errors, tries=3)
    assert (error.exit_code, error.where) == (3, "s3://acme/x")
    assert error.got == "reset 2 (3 tries)"
    assert error.hint == "run the command again later: it continues where it stopped"
    assert len(errors) == 6


def test_other_errors_are_not_tried_again() -> None:
    errors: list[Exception] = [DeliveryError("denied", exit_code=3), Transient("never")]
    assert refusal(errors).what == "denied"
    assert len(errors) == 1


@pytest.mark.parametrize("seed", range(5))
def test_waits_grow_by_chance_up_to_a_limit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, float]] = []

    def highest(low: float, high: float) -> float:
        asked.append((low, high))
        return high

    monkeypatch.setattr("connectors.retry.random.uniform", highest)
    _, _, waits = persisted([Transient("503")] * (seed + 5), tries=20)
    assert waits == [min(30.0, 0.5 * 2**n) for n in range(seed + 5)]
    assert {low for low, _ in asked} == {0}


def test_the_servers_own_wait_is_honoured() -> None:
    _, _, waits = persisted([Transient("429", wait=7.0), Transient("429", wait=120.0)])
    assert 7.0 <= waits[0] <= 8.0
    assert 120.0 <= waits[1] <= 121.0


def test_a_server_that_asks_for_too_much_patience() -> None:
    errors: list[Exception] = [Transient("429", wait=3600.0), Transient("never")]
    assert refusal(errors).got == "429 (1 try); the server asks to wait 3600 s"
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("header", "expected"), [("7", 7.0), (" 0 ", 0.0), (None, None), ("", None), ("soon", None)]
)
def test_seconds_to_wait(header: str | None, expected: float | None) -> None:
    assert seconds(header) == expected


def test_a_moment_to_wait_for() -> None:
    told = seconds(format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True))
    assert told is not None
    assert 55 < told <= 60
    assert seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0
