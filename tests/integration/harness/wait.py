"""Waiting for something to become true, with a message that says what did not."""

import time

import urllib3.exceptions
from kubernetes.client.exceptions import ApiException

# Answers that a later attempt may not get: not there yet, too many requests, server trouble.
PASSING = (404, 429, 500, 502, 503, 504)


def passing(error):
    """True for an error that a waiting test ignores, such as an API server that restarts."""
    if isinstance(error, ApiException):
        return error.status in PASSING or not error.status
    return isinstance(error, (urllib3.exceptions.HTTPError, ConnectionError))


def wait_until(check, timeout, why, interval=0.1):
    """Calls check() until it gives something true, and returns that.

    why is a clause that ends "... did not happen: ", or a function that gives one. Passing errors
    of the API count as "not yet"; any other exception goes through.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            last = check()
            if last:
                return last
        except Exception as error:
            if not passing(error):
                raise
            last = error
        if time.monotonic() > deadline:
            reason = why() if callable(why) else why
            raise AssertionError(f"not within {timeout} s: {reason} (last seen: {last!r})")
        time.sleep(interval)


def stays(check, seconds, why, interval=0.2):
    """Asserts that check() stays true for that many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert check(), why() if callable(why) else why
        time.sleep(interval)
