"""What the verifier says: counts, and the differences that it found."""

import collections
from dataclasses import dataclass, field

SHOWN_PER_KIND = 3


@dataclass
class Report:
    """Differences have a kind, and a sentence that says where."""

    counts: dict = field(default_factory=dict)
    differences: list = field(default_factory=list)

    def add(self, kind, sentence):
        self.differences.append((kind, sentence))

    def print(self):
        print("verifier: " + ", ".join(f"{count:,} {name}" for name, count in self.counts.items()))
        kinds = collections.Counter(kind for kind, _ in self.differences)
        for kind, count in kinds.items():
            print(f"  {kind}: {count:,}")
            for _, sentence in [each for each in self.differences if each[0] == kind][:SHOWN_PER_KIND]:
                print(f"    {sentence}")
        print("verifier: " + (f"{len(self.differences):,} DIFFERENCES" if kinds else "no difference"))
