"""One moment as the rules see it: what is seen, what is remembered, what the rack is."""

from dataclasses import dataclass, replace

from racky.core.causes import NOT_JUDGED, Health
from racky.core.life import Lifecycle
from racky.core.memory import Memory, Power
from racky.core.setup import Setup
from racky.core.sight import Sight


@dataclass(frozen=True, slots=True)
class View:
    """See ``Sight``, ``Memory`` and ``Setup``. ``health`` is this step's, once it is judged."""

    sight: Sight
    memory: Memory
    setup: Setup
    health: Health = NOT_JUDGED

    @property
    def now_s(self) -> float:
        return self.sight.now_s

    @property
    def power(self) -> Power:
        return self.memory.power

    def powered(self, power: Power) -> "View":
        """The same moment with another memory of the power."""
        return replace(self, memory=replace(self.memory, power=power))

    @property
    def life(self) -> Lifecycle:
        return self.memory.life

    def living(self, life: Lifecycle) -> "View":
        """The same moment with another memory of the lifecycle."""
        return replace(self, memory=replace(self.memory, life=life))
