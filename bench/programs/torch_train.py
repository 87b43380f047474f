#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A PyTorch program to be recorded: trains a small network on made-up images, the same on every machine.

  torch_train.py [--steps N] [--batch N] [--caching]

How PyTorch is started, and what --caching leaves: torch_parts.py.
"""

import argparse
import sys

import torch_parts


def parse_arguments():
    parser = argparse.ArgumentParser(description="Trains a small network on made-up images, to be recorded.")
    parser.add_argument("--steps", type=int, default=50, metavar="N", help="of training (default 50)")
    parser.add_argument("--batch", type=int, default=64, metavar="N", help="most images in a step (default 64)")
    parser.add_argument("--caching", action="store_true", help="leave PyTorch its caching allocator")
    options = parser.parse_args()
    if options.steps < 1 or options.batch < 1:
        parser.error("--steps and --batch are 1 or more")
    return options


def make_network(torch):
    """Convolutions, then a classifier; 0.6 million parameters."""
    nn = torch.nn
    layers = []
    channels = 3
    for width in (32, 64, 128, 256):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * 4, 128), nn.ReLU(), nn.Linear(128, 10))


def train(torch, options):
    """The mean loss of the last step. Batches differ in size, as they do in programs that pad little."""
    network = make_network(torch).cuda()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    loss = None
    for step in range(options.steps):
        count = max(options.batch - 7 * (step % 5), 1)
        images = torch.randn(count, 3, 32, 32).cuda()
        labels = (images.mean(dim=(1, 2, 3)) * 1000).long() % 10
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
    return loss


if __name__ == "__main__":
    sys.exit(torch_parts.run("torch_train.py", parse_arguments(), train))
