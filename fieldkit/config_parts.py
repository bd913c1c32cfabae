"""What may stand in the configuration file of any daemon: its names, its broker, where it remembers and what it records.

Only what one value alone can get wrong is judged here.
"""

from typing import Annotated, Literal

from pydantic import Field

from fieldkit import model

Id = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,64}$")]
Person = Annotated[str, Field(min_length=2, max_length=80)]
Text = Annotated[str, Field(min_length=1, max_length=400)]
TagName = Annotated[str, Field(pattern=r"^[A-Z]{1,4}-[1-9][0-9]{2}[A-Z]?$")]
Lane = Literal["fast", "normal", "slow"]
LANES: tuple[Lane, ...] = ("fast", "normal", "slow")


class Model(model.Model):
    """Frozen, no unknown keys, no silent conversion, no NaN; what stands under a field is its documentation.

    ``draw_config`` reads it there: pydantic would read this source, at each start of a daemon, for nobody.
    """


class Tls(Model):
    """Files, never their contents."""

    ca_file: Text
    cert_file: Text | None = None
    key_file: Text | None = None


class Mqtt(Model):
    """The broker. Protection does not need it."""

    host: Text
    port: Annotated[int, Field(ge=1, le=65535)]
    protocol: Literal["5", "3.1.1"] = "5"
    tls: Tls | None = None
    username: Text | None = None
    password_file: Text | None = None
    """A file with the password in its first line; secrets never stand in this file."""
    client_id: Id | None = None
    """Left out = the daemon and its rack, e.g. ``valvey-r01``."""
    telemetry_s: Annotated[float, Field(ge=0.1, le=60)] = 1.0
    keepalive_s: Annotated[int, Field(ge=5, le=120)] = 15


class Memory(Model):
    """Where it remembers, and where it counts its starts (a directory that ends with the boot)."""

    directory: Text
    runtime_directory: Text


class Journal(Model):
    """The record. Left out = beside the memory."""

    directory: Text
    most_mb: Annotated[int, Field(ge=16, le=100_000)] = 512
