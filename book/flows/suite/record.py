"""The record of a run of flows: pictures, commands, run times and devices."""
import json
import os


class Flow:
    """One flow that was run."""

    def __init__(self, entry):
        self.targets, self.sources = entry["targets"], entry["sources"]
        self.command, self.seconds = entry["command"], entry["seconds"]


class Record:
    """The log of a folder in which flows were run."""

    def __init__(self, folder):
        notes = os.path.join(folder, ".flows")
        self.folder, self.flows = folder, {}
        try:
            with open(os.path.join(notes, "log"), encoding="utf-8") as log:
                entries = [json.loads(line) for line in log if line.strip()]
        except OSError:
            entries = []
        # A target that was made again has a later line.
        for entry in entries:
            flow = Flow(entry)
            self.flows.update({target: flow for target in flow.targets})
        try:
            with open(os.path.join(notes, "results"), encoding="utf-8") as listing:
                self.results = listing.read().split("\n")[:-1]
        except OSError:
            self.results = []

    def behind(self, target):
        """The flows that made `target`, in order; its own flow is the last."""
        order, seen = [], set()

        def visit(name):
            flow = self.flows.get(name)
            if flow is None or id(flow) in seen:
                return
            seen.add(id(flow))
            for source in flow.sources:
                visit(source)
            order.append(flow)

        visit(target)
        return order

    def devices(self, flows):
        """The devices in the histories of the flows' targets, each once."""
        names = []
        for target in [target for flow in flows for target in flow.targets if target.endswith(".rsf")]:
            for device in devices_of(os.path.join(self.folder, target)):
                if device not in names:
                    names.append(device)
        return names


def devices_of(header):
    """Devices in the history of an RSF header: lines `sifaka-VERSION <tab> DEVICE` (a banner has more tabs)."""
    try:
        with open(header, "rb") as text:
            lines = text.read(1 << 20).split(b"\x0c\x0c\x04")[0].decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    words = [line.split("\t") for line in lines if line.startswith("sifaka-")]
    return [word[1] for word in words if len(word) == 2]


def brief(command, root):
    """A command without the path of the programs, as in the SConstruct."""
    return command.replace(os.path.join(root, "bin") + os.sep, "")
