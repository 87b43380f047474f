#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A PyTorch program to be recorded: trains a small transformer with gradient accumulation.

  torch_accumulate.py [--steps N] [--parts N] [--tokens N] [--caching]

A step is the sum of several small batches, and the gradients stay live from the first of them to the step's end. They
come into being in the midst of the first backward pass, between activations that end soon. A batch has about --tokens
tokens: many short sequences, or few long ones, as loaders fill batches. How PyTorch is started: torch_parts.py.
"""

import argparse
import random
import sys

import torch_parts


def parse_arguments():
    parser = argparse.ArgumentParser(description="Trains a small transformer with gradient accumulation.")
    parser.add_argument("--steps", type=int, default=20, metavar="N", help="of training (default 20)")
    parser.add_argument("--parts", type=int, default=4, metavar="N", help="batches of a step (default 4)")
    parser.add_argument("--tokens", type=int, default=4096, metavar="N", help="most tokens in a batch (default 4096)")
    parser.add_argument("--caching", action="store_true", help="leave PyTorch its caching allocator")
    options = parser.parse_args()
    if options.steps < 1 or options.parts < 1 or options.tokens < 16:
        parser.error("--steps and --parts are 1 or more, --tokens 16 or more")
    return options


def train(torch, options):
    """The mean loss of the last step. The lengths are the same in every run."""
    lengths = random.Random(2)
    model = torch_parts.make_language_model(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    total = None
    for _ in range(options.steps):
        optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device="cuda")
        for _ in range(options.parts):
            length = lengths.randint(max(options.tokens // 64, 2), max(options.tokens // 4, 4))
            loss = torch_parts.loss_of_batch(torch, model, options.tokens // length, length) / options.parts
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return total


if __name__ == "__main__":
    sys.exit(torch_parts.run("torch_accumulate.py", parse_arguments(), train))
