"""Train the date reader and write what the example commits.

Usage: python train.py --train train.tsv --test test.tsv --out .
Needs: torch, safetensors, numpy. Writes weights.safetensors (float32), the two
vocabularies and reference.json, and prints the exact-match accuracy of greedy
decoding over the test file.

The architecture (all the facts a reader of the weights needs), after Bahdanau,
Cho and Bengio 2015:
  encoder: one bidirectional GRU, 64 wide each way, over embeddings of 32.
  decoder: one GRU, 128 wide. It starts from tanh(bridge(last state of the
  encoder's backward GRU)). At each position it looks at the source from its
  state before: energy = v . tanh(q(state) + k(memory)), 64 wide; the context is
  the sum of the encoder's rows weighted by softmax(energy); the GRU then reads
  [embedding; context], and logits = out_proj([state; context; embedding]).
  GRUs are PyTorch's: gates r, z, n, the reset gate after the state's matmul.
  Source ids: characters, then </s>. The decoder starts from <s> and ends with
  </s>. Ids: <pad> 0, <s> 1, </s> 2, <unk> 3.
"""
import argparse
import json
import random
import time

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional

PAD, START, END, UNKNOWN = 0, 1, 2, 3
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
SHOWCASE = "Sat, the 3rd of May 1979"


class Encoder(nn.Module):
    """Rows for every source position, and the last state of the backward GRU."""

    def __init__(self, vocabulary, embedding, width):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, embedding)
        self.rnn = nn.GRU(embedding, width, batch_first=True, bidirectional=True)

    def forward(self, source):
        lengths = (source != PAD).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(source), lengths, batch_first=True, enforce_sorted=False)
        rows, last = self.rnn(packed)
        return nn.utils.rnn.pad_packed_sequence(rows, batch_first=True)[0], last[1]


class Attention(nn.Module):
    """Additive attention."""

    def __init__(self, state, memory, width):
        super().__init__()
        self.q_proj = nn.Linear(state, width)
        self.k_proj = nn.Linear(memory, width)
        self.v_proj = nn.Linear(width, 1, bias=False)

    def forward(self, state, memory, keys, mask):
        energy = self.v_proj(torch.tanh(self.q_proj(state)[:, None] + keys)).squeeze(2)
        shares = energy.masked_fill(~mask, float("-inf")).softmax(1)
        return (shares[:, None] @ memory).squeeze(1)


class Decoder(nn.Module):
    """One position at a time: attention, then the GRU, then logits."""

    def __init__(self, vocabulary, embedding, memory, width, attention):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, embedding)
        self.attn = Attention(width, memory, attention)
        self.rnn = nn.GRU(embedding + memory, width, batch_first=True)
        self.out_proj = nn.Linear(width + memory + embedding, vocabulary)

    def forward(self, ids, state, memory, keys, mask):
        embedded = self.embed(ids)
        context = self.attn(state, memory, keys, mask)
        _, after = self.rnn(torch.cat([embedded, context], 1)[:, None], state[None])
        state = after[0]
        return self.out_proj(torch.cat([state, context, embedded], 1)), state


class DateReader(nn.Module):
    """The encoder-decoder; parameter names are the names in the weight file."""

    def __init__(self, source, target, embedding=32, width=64, state=128, attention=64):
        super().__init__()
        self.encoder = Encoder(source, embedding, width)
        self.bridge = nn.ModuleDict({"h_l0": nn.Linear(width, state)})
        self.decoder = Decoder(target, embedding, 2 * width, state, attention)

    def encode(self, source):
        memory, last = self.encoder(source)
        state = torch.tanh(self.bridge["h_l0"](last))
        return state, memory, self.decoder.attn.k_proj(memory), source != PAD

    def forward(self, source, target):
        """Logits for every target position."""
        state, *seen = self.encode(source)
        logits = []
        for ids in target.unbind(1):
            now, state = self.decoder(ids, state, *seen)
            logits.append(now)
        return torch.stack(logits, 1)


def read_pairs(path):
    """[(text, ISO)] of a TSV file."""
    with open(path, encoding="utf-8") as lines:
        return [tuple(line.rstrip("\n").split("\t")) for line in lines]


def write_vocabulary(path, texts):
    """Special tokens, then all characters in order; returns ids by token."""
    tokens = SPECIAL + sorted({c for text in texts for c in text})
    with open(path, "w", encoding="utf-8") as out:
        json.dump(tokens, out, ensure_ascii=False, indent=0)
        out.write("\n")
    return {token: number for number, token in enumerate(tokens)}


def encode_text(text, vocabulary):
    return [vocabulary.get(c, UNKNOWN) for c in text] + [END]


def padded(rows):
    """A batch of id lists as one tensor."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, PAD)


def train(model, examples, args):
    """Adam over `args.steps` batches of similar lengths."""
    rng = random.Random(args.seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.rate, args.steps)
    examples = sorted(examples, key=lambda e: len(e[0]))
    began, total = time.time(), 0.0
    for step in range(1, args.steps + 1):
        start = rng.randrange(len(examples) - args.batch + 1)
        batch = examples[start:start + args.batch]
        source, target = padded([e[0] for e in batch]), padded([[START] + e[1] for e in batch])
        logits = model(source, target[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % args.report == 0:
            print(f"step {step} loss {total / args.report:.4f} {time.time() - began:.0f} s", flush=True)
            total = 0.0


@torch.no_grad()
def greedy(model, sources, longest=16):
    """Greedy outputs [(ids without </s>, score)]; the score includes </s>."""
    state, *seen = model.encode(padded(sources))
    ids = torch.full((len(sources),), START)
    score, done, rows = torch.zeros(len(sources), dtype=state.dtype), torch.zeros(len(sources), dtype=torch.bool), []
    while not done.all() and len(rows) < longest:
        logits, state = model.decoder(ids, state, *seen)
        best, ids = logits.log_softmax(-1).max(-1)
        score += torch.where(done, 0, best)
        ids = torch.where(done, END, ids)
        rows.append(ids)
        done |= ids == END
    rows = torch.stack(rows, 1).tolist()
    return [(row[:row.index(END)] if END in row else row, s) for row, s in zip(rows, score.tolist())]


def decode_ids(ids, vocabulary):
    tokens = list(vocabulary)
    return "".join(tokens[i] for i in ids)


def evaluate(model, test, source, target):
    """Exact-match accuracy; prints the misses."""
    right = 0
    for start in range(0, len(test), 100):
        part = test[start:start + 100]
        for (text, iso), (ids, _) in zip(part, greedy(model, [encode_text(t, source) for t, _ in part])):
            answer = decode_ids(ids, target)
            right += answer == iso
            if answer != iso:
                print(f"miss: {text}: {iso}, got {answer}")
    return right / len(test)


def write_reference(path, model, texts, source, target):
    """What a compiled model must reproduce, computed in float64, one text at a time."""
    model.double()
    cases = []
    for text in texts:
        ids, score = greedy(model, [encode_text(text, source)])[0]
        cases.append({"source": text, "source_ids": encode_text(text, source), "output_ids": ids,
                      "output": decode_ids(ids, target), "score": score})
    lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in cases)
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"[\n{lines}\n]\n")
    model.float()
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", default="train.tsv")
    parser.add_argument("--test", default="test.tsv")
    parser.add_argument("--out", default=".")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--report", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    pairs, test = read_pairs(args.train), read_pairs(args.test)
    source = write_vocabulary(args.out + "/source-vocabulary.json", [text for text, _ in pairs])
    target = write_vocabulary(args.out + "/target-vocabulary.json", [iso for _, iso in pairs])
    examples = [(encode_text(text, source), encode_text(iso, target)) for text, iso in pairs]
    model = DateReader(len(source), len(target))
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(examples)} pairs", flush=True)
    train(model, examples, args)
    save_file(model.state_dict(), args.out + "/weights.safetensors")
    print(f"exact match on {len(test)} unseen days: {evaluate(model, test, source, target):.3f}")
    cases = write_reference(args.out + "/reference.json", model, [SHOWCASE] + [text for text, _ in test[:20]], source,
                            target)
    print(f"{SHOWCASE} -> {cases[0]['output']}")


if __name__ == "__main__":
    main()
