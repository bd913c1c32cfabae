"""The broker of a rack's configuration, as a session wants it told."""

import ssl

from fieldkit.logs import Secret
from fieldkit.mqtt_types import Settings
from valvey.config_models import Tls
from valvey.config_rack import RackConfig

TIMEOUT_S = 2.0
"""Longest wait for the broker, so that an end of the process never waits longer for it."""


def settings(config: RackConfig, client_id: str | None = None) -> Settings:
    """Return how to reach the broker, as ``client_id`` or as the configuration says.

    Raises OSError naming the file when a password or certificate cannot be read, ValueError without a broker.
    """
    mqtt = config.data.mqtt
    if mqtt is None:
        raise ValueError(f"{config.file}: has no broker; add mqtt: {{host: ..., port: ...}}")
    password = None
    if mqtt.password_file is not None:
        text = config.path(mqtt.password_file).read_text(encoding="utf-8")
        password = Secret(text.partition("\n")[0])
    return Settings(
        mqtt.host,
        mqtt.port,
        client_id or mqtt.client_id or f"valvey-{config.data.rack}",
        protocol=mqtt.protocol,
        username=mqtt.username,
        password=password,
        tls=None if mqtt.tls is None else _context(config, mqtt.tls),
        keepalive_s=mqtt.keepalive_s,
        timeout_s=TIMEOUT_S,
    )


def _context(config: RackConfig, tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(config.path(tls.ca_file)))
    if tls.cert_file is not None:
        key = None if tls.key_file is None else str(config.path(tls.key_file))
        context.load_cert_chain(str(config.path(tls.cert_file)), key)
    return context
