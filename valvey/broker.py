"""The broker of a rack's configuration, as a session wants it told."""

from fieldkit.broker import settings_of
from fieldkit.mqtt_types import Settings
from valvey.config_rack import RackConfig


def settings(config: RackConfig, client_id: str | None = None) -> Settings:
    """Return how to reach the broker, as ``client_id`` or as the configuration says.

    Raises OSError naming the file when a password or certificate cannot be read, ValueError without a broker.
    """
    mqtt = config.data.mqtt
    if mqtt is None:
        raise ValueError(f"{config.file}: has no broker; add mqtt: {{host: ..., port: ...}}")
    return settings_of(mqtt, config.path, client_id or mqtt.client_id or f"valvey-{config.data.rack}")
