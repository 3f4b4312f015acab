"""The parser of the tap against caproto's: the same bytes, the same channels and puts."""
import subprocess

from harness import env
from harness.conversations import Conversation, decode

CONVERSATIONS = 211


def test_same_channels_and_puts_as_caproto():
    conversations = [Conversation(seed) for seed in range(CONVERSATIONS)]
    lines = []
    for one in conversations:
        lines += [f"{direction} {data.hex()}" for direction, data in one.segments()] + ["."]
    run = subprocess.run([env.tool("ca_decode")], input="\n".join(lines) + "\n", capture_output=True, text=True,
                         timeout=600, check=True)
    ours = [text.strip("\n").split("\n") for text in run.stdout.split("\n.\n")[:-1]]
    assert len(ours) == CONVERSATIONS
    puts = 0
    for seed, (one, decoded) in enumerate(zip(conversations, ours)):
        expected = decode(one.turns)
        assert decoded == expected, f"seed {seed}"
        puts += sum(int(line.split()[-1]) for line in expected if line.startswith("put "))
    assert puts > 10 * CONVERSATIONS  # the conversations are about something
