"""Which test files `make unit` leaves out. Nothing is imported here: pytest has not started yet when this is read."""

#: Modules that step whole plants, explore, or start programs: parts of `make test`, too slow to run after every change.
PARTS = frozenset({
    "attack/test_blind_and_late.py",
    "attack/test_exploration.py",
    "attack/test_paper_rack_by_chance.py",
    "bench/test_mass_balance.py",
    "fieldkit/test_journal.py",
    "fieldkit/test_ring.py",
    "fieldkit/test_store.py",
    "firmware_sim/physics/test_heat_and_liquid.py",
    "firmware_sim/physics/test_network.py",
    "firmware_sim/test_bank.py",
    "firmware_sim/test_check_physics.py",
    "firmware_sim/test_faults.py",
    "firmware_sim/test_plant.py",
    "firmware_sim/test_plant_rack.py",
    "firmware_sim/test_procedures_on_the_plant.py",
    "firmware_sim/test_scenario.py",
    "test_mutation.py",
    "test_project.py",
    "valvey/core/loop/test_on_the_plant.py",
    "valvey/core/test_testing.py",
    "valvey/core/test_virtual_sensors_plant.py",
    "valvey/test_cli.py",
    "valvey/test_recorder.py",
    "valvey/test_scan.py",
})
