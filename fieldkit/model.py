"""What all models of configuration have in common."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Frozen, no unknown keys, no silent conversion, no NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
