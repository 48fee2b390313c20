"""Train the Korean-English Transformer and write what the example commits.

Usage: python train.py --train train.tsv --test test.tsv --out .
Needs: torch, sentencepiece, safetensors, numpy. Writes weights.safetensors
(float32), tokenizer.model and reference.json, and prints the exact-match
accuracy of greedy decoding over the test file.

The architecture (all the facts a reader of the weights needs):
  encoder-decoder, pre-norm, 2 encoder and 2 decoder layers, width 128,
  4 heads of 32 (scores scaled by 1/sqrt(32)), feed-forward 256 with ReLU.
  Every projection has a bias and its weight is [out, in].
  x = x + self_attn(norm(x)); decoder also x = x + cross_attn(norm(x), memory);
  x = x + fc2(relu(fc1(norm(x)))); one final LayerNorm on each stack (the
  encoder's result is `memory`). LayerNorm epsilon 1e-5 everywhere.
  Input: embed[id] * sqrt(128) + position(p), p counted from 0 on both sides.
  position(p)[i] = sin(p * w_i), position(p)[64 + i] = cos(p * w_i), i < 64,
  w_i = 10000 ** (-i / 64): the sines first, then the cosines.
  Source, target and output share one table: logits = embed . x + out_proj.bias.
  Source ids: pieces, then </s> (no <s>). The decoder starts from <s> and ends
  with </s>. Ids: <pad> 0, <s> 1, </s> 2, <unk> 3.
  One joint SentencePiece unigram model, identity normalisation.
"""
import argparse
import io
import json
import math
import random
import time

import sentencepiece
import torch
from safetensors.torch import save
from torch import nn
from torch.nn import functional

PAD, START, END, UNKNOWN = 0, 1, 2, 3
SHOWCASE = "어제 카페 갔었어 거기 사람 많더라"


class Attention(nn.Module):
    """Multi-head attention with its own pre-norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.o_proj = nn.Linear(width, width)

    def split(self, x):
        """[batch, length, width] -> [batch, heads, length, head width]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, mask=None, memory=None, causal=False):
        """The attention's contribution; keys and values come from memory if given."""
        x = self.norm(x)
        memory = x if memory is None else memory
        q = self.split(self.q_proj(x))
        k, v = self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Two-layer ReLU network with its own pre-norm."""

    def __init__(self, width, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        """The network's contribution."""
        return self.fc2(functional.relu(self.fc1(self.norm(x))))


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network."""

    def __init__(self, width, heads, hidden, dropout):
        super().__init__()
        self.self_attn = Attention(width, heads)
        self.ffn = FeedForward(width, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = x + self.dropout(self.self_attn(x, mask))
        return x + self.dropout(self.ffn(x))


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the source, feed-forward network."""

    def __init__(self, width, heads, hidden, dropout):
        super().__init__()
        self.self_attn = Attention(width, heads)
        self.cross_attn = Attention(width, heads)
        self.ffn = FeedForward(width, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, mask):
        x = x + self.dropout(self.self_attn(x, causal=True))
        x = x + self.dropout(self.cross_attn(x, mask, memory))
        return x + self.dropout(self.ffn(x))


class Stack(nn.Module):
    """Layers and the final norm of one side."""

    def __init__(self, layers, width):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = nn.LayerNorm(width)

    def forward(self, x, *context):
        for layer in self.layers:
            x = layer(x, *context)
        return self.final_norm(x)


def positions(length, width):
    """The sinusoidal table: sines in the first half, cosines in the second."""
    rates = 10000.0 ** (-torch.arange(width // 2) / (width // 2))
    angles = torch.arange(length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Transformer(nn.Module):
    """The encoder-decoder; parameter names are the names in the weight file."""

    def __init__(self, vocabulary, width=128, heads=4, hidden=256, layers=2, dropout=0.05, longest=96):
        super().__init__()
        self.scale = math.sqrt(width)
        self.shared = nn.ModuleDict({"embed": nn.Embedding(vocabulary, width)})
        self.encoder = Stack([EncoderLayer(width, heads, hidden, dropout) for _ in range(layers)], width)
        self.decoder = Stack([DecoderLayer(width, heads, hidden, dropout) for _ in range(layers)], width)
        self.decoder.out_proj = nn.ParameterDict({"bias": nn.Parameter(torch.zeros(vocabulary))})
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", positions(longest, width), persistent=False)
        nn.init.normal_(self.shared["embed"].weight, std=width ** -0.5)

    def embed(self, ids):
        x = self.shared["embed"](ids) * self.scale + self.table[:ids.shape[1]]
        return self.dropout(x)

    def encode(self, source):
        """(memory, mask over the source)."""
        mask = (source != PAD)[:, None, None, :]
        return self.encoder(self.embed(source), mask), mask

    def decode(self, target, memory, mask):
        """Logits for every target position."""
        x = self.decoder(self.embed(target), memory, mask)
        return functional.linear(x, self.shared["embed"].weight, self.decoder.out_proj["bias"])

    def forward(self, source, target):
        return self.decode(target, *self.encode(source))


def read_pairs(path):
    """[(Korean, English)] of a TSV file."""
    with open(path, encoding="utf-8") as lines:
        return [tuple(line.rstrip("\n").split("\t")) for line in lines]


def train_tokenizer(pairs, size):
    """The bytes of a joint SentencePiece model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([side for pair in pairs[:60_000] for side in pair]),
        model_writer=model, vocab_size=size, model_type="unigram",
        character_coverage=1.0, normalization_rule_name="identity", num_threads=1,
        pad_id=PAD, bos_id=START, eos_id=END, unk_id=UNKNOWN, pad_piece="<pad>", minloglevel=2)
    return model.getvalue()


def write_bytes(path, content):
    """Write a binary file."""
    with open(path, "wb") as out:
        out.write(content)


def padded(rows):
    """A batch of id lists as one tensor."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, PAD)


def batches(examples, tokens, rng):
    """One epoch of batches of similar lengths, each of about `tokens` target tokens."""
    order = sorted(examples, key=lambda e: (max(len(e[0]), len(e[1])), rng.random()))
    result, start = [], 0
    while start < len(order):
        end = start + max(1, tokens // (len(order[start][1]) + 2))
        result.append(order[start:end])
        start = end
    rng.shuffle(result)
    return result


def learning_rate(progress, peak, warmup=0.03):
    """Linear warm-up, then a cosine down to zero; progress runs from 0 to 1."""
    if progress < warmup:
        return peak * progress / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (progress - warmup) / (1 - warmup)))


def train(model, examples, args):
    """Adam over `args.steps` batches."""
    rng = random.Random(args.seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.rate, betas=(0.9, 0.98), eps=1e-9)
    queue, began, right, total = [], time.time(), 0, 0
    model.train()
    for step in range(1, args.steps + 1):
        queue = queue or batches(examples, args.batch_tokens, rng)
        batch = queue.pop()
        source, target = padded([e[0] for e in batch]), padded([[START] + e[1] for e in batch])
        optimizer.param_groups[0]["lr"] = learning_rate(step / args.steps, args.rate)
        logits = model(source, target[:, :-1])
        wanted = target[:, 1:]
        loss = functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(),
                                        ignore_index=PAD, label_smoothing=args.smoothing)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        known = wanted != PAD
        right += ((logits.argmax(-1) == wanted) & known).sum().item()
        total += known.sum().item()
        if step % args.report == 0:
            print(f"step {step} loss {loss.item():.4f} token accuracy {right / total:.4f} "
                  f"{time.time() - began:.0f} s", flush=True)
            right = total = 0


@torch.no_grad()
def greedy(model, sources, longest=60):
    """Greedy outputs [(ids without </s>, score)]; the score includes </s>."""
    memory, mask = model.encode(padded(sources))
    count = len(sources)
    target = torch.full((count, 1), START)
    score, done = torch.zeros(count, dtype=memory.dtype), torch.zeros(count, dtype=torch.bool)
    while not done.all() and target.shape[1] < longest:
        best, ids = model.decode(target, memory, mask)[:, -1].log_softmax(-1).max(-1)
        score += torch.where(done, 0, best)
        target = torch.cat([target, torch.where(done, END, ids)[:, None]], 1)
        done |= ids == END
    rows = [row[1:row.index(END)] if END in row else row[1:] for row in target.tolist()]
    return list(zip(rows, score.tolist()))


def evaluate(model, tokenizer, pairs, shown=10):
    """Exact-match accuracy over pairs; prints some of the misses."""
    right = 0
    for start in range(0, len(pairs), 100):
        part = pairs[start:start + 100]
        outputs = greedy(model, [tokenizer.encode(korean) + [END] for korean, _ in part])
        for (korean, english), (ids, _) in zip(part, outputs):
            answer = tokenizer.decode(ids)
            right += answer == english
            if answer != english and shown:
                shown -= 1
                print(f"miss: {korean}\n  want {english}\n  got  {answer}")
    return right / len(pairs)


def reference(model, tokenizer, sentences):
    """What a compiled model must reproduce, computed in float64, one sentence at a time."""
    model.double()
    cases = []
    for korean in sentences:
        source = tokenizer.encode(korean) + [END]
        ids, score = greedy(model, [source])[0]
        cases.append({"source": korean, "source_ids": source, "output_ids": ids,
                      "output": tokenizer.decode(ids), "score": score})
    model.float()
    return cases


def write_reference(path, cases):
    """One case a line; the score is the sum of log-probabilities, </s> included."""
    lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in cases)
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"[\n{lines}\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", default="train.tsv")
    parser.add_argument("--test", default="test.tsv")
    parser.add_argument("--out", default=".")
    parser.add_argument("--vocabulary", type=int, default=1200)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch-tokens", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--smoothing", type=float, default=0.02)
    parser.add_argument("--report", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    pairs, test = read_pairs(args.train), read_pairs(args.test)
    trained = train_tokenizer(pairs, args.vocabulary)
    write_bytes(args.out + "/tokenizer.model", trained)
    tokenizer = sentencepiece.SentencePieceProcessor(model_proto=trained)
    sources = tokenizer.encode([korean for korean, _ in pairs])
    targets = tokenizer.encode([english for _, english in pairs])
    examples = [(source + [END], target + [END]) for source, target in zip(sources, targets)]
    model = Transformer(args.vocabulary)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(examples)} pairs", flush=True)
    train(model, examples, args)
    model.eval()
    write_bytes(args.out + "/weights.safetensors", save(dict(model.state_dict())))
    print(f"exact match on {len(test)} unseen pairs: {evaluate(model, tokenizer, test):.3f}")
    cases = reference(model, tokenizer, [SHOWCASE] + [korean for korean, _ in test[:20]])
    write_reference(args.out + "/reference.json", cases)
    print(f"{SHOWCASE} -> {cases[0]['output']}")


if __name__ == "__main__":
    main()
