"""Puts quern's functions into Liger-Kernel, as an application does, before its tests are imported. Runs its tests of the
embedding too, which the project skips since its own is an experiment."""
import quern.torch.liger

quern.torch.liger.use()


def pytest_collection_modifyitems(items):
    for item in items:
        if "test_embedding" in item.nodeid:
            item.own_markers = [marker for marker in item.own_markers if marker.name != "skip"]
