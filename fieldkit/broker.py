"""The broker of a daemon's configuration, as a session wants it told."""

import ssl
from collections.abc import Callable
from pathlib import Path

from fieldkit.config_parts import Mqtt, Tls
from fieldkit.logs import Secret
from fieldkit.mqtt_types import Settings

TIMEOUT_S = 2.0
"""Longest wait for the broker, so that an end of the process never waits longer for it."""


def settings_of(mqtt: Mqtt, path: Callable[[str], Path], client_id: str) -> Settings:
    """Return how to reach the broker of any daemon's file; ``path`` finds what that file names. Raises OSError."""
    password = None
    if mqtt.password_file is not None:
        text = path(mqtt.password_file).read_text(encoding="utf-8")
        password = Secret(text.partition("\n")[0])
    return Settings(
        mqtt.host,
        mqtt.port,
        client_id,
        protocol=mqtt.protocol,
        username=mqtt.username,
        password=password,
        tls=None if mqtt.tls is None else _context(path, mqtt.tls),
        keepalive_s=mqtt.keepalive_s,
        timeout_s=TIMEOUT_S,
    )


def _context(path: Callable[[str], Path], tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(path(tls.ca_file)))
    if tls.cert_file is not None:
        key = None if tls.key_file is None else str(path(tls.key_file))
        context.load_cert_chain(str(path(tls.cert_file)), key)
    return context
