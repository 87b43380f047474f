#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A PyTorch program to be recorded: trains a small transformer on sequences whose length changes from step to step.

  torch_transformer.py [--steps N] [--batch N] [--longest N] [--caching]

Hardly a size comes twice, but for those of the parameters. So what a step freed fits the next step badly: the usual
case in which a pool of PyTorch's kind holds far more than is live. How PyTorch is started: torch_parts.py.
"""

import argparse
import random
import sys

import torch_parts


def parse_arguments():
    parser = argparse.ArgumentParser(description="Trains a small transformer on sequences of changing length.")
    parser.add_argument("--steps", type=int, default=30, metavar="N", help="of training (default 30)")
    parser.add_argument("--batch", type=int, default=8, metavar="N", help="sequences in a step (default 8)")
    parser.add_argument("--longest", type=int, default=1024, metavar="N", help="most tokens in a sequence (default 1024)")
    parser.add_argument("--caching", action="store_true", help="leave PyTorch its caching allocator")
    options = parser.parse_args()
    if options.steps < 1 or options.batch < 1 or options.longest < 16:
        parser.error("--steps and --batch are 1 or more, --longest 16 or more")
    return options


def train(torch, options):
    """The loss of the last step. The lengths are the same in every run."""
    lengths = random.Random(1)
    model = torch_parts.make_language_model(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss = None
    for _ in range(options.steps):
        length = lengths.randint(options.longest // 16, options.longest)
        optimizer.zero_grad(set_to_none=True)
        loss = torch_parts.loss_of_batch(torch, model, options.batch, length)
        loss.backward()
        optimizer.step()
    return loss


if __name__ == "__main__":
    sys.exit(torch_parts.run("torch_transformer.py", parse_arguments(), train))
