# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Shared by the PyTorch programs to be recorded: how they start and end, and a small language model.

PyTorch asks the vendor for large pieces and hands out tensors itself, so a recording of the vendor's calls would
show the pieces alone. So start() turns its allocator off: every tensor is an allocation of the vendor's, and every
end of one a free (PYTORCH_NO_CUDA_MEMORY_CACHING=1). Nothing is read from a disk or a network. Needs PyTorch with its
shared runtime of CUDA or ROCm, as its packages have it, and a device.
"""

import os
import sys


def start(program, caching):
    """PyTorch, or None with a line on standard error. With caching, PyTorch keeps its own allocator."""
    if not caching:
        os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"  # heeded when PyTorch starts
    try:
        import torch
    except ImportError as error:
        print(f"{program}: {error}; pip install torch", file=sys.stderr)
        return None
    if not torch.cuda.is_available():
        print(f"{program}: PyTorch {torch.__version__} finds no device of CUDA or ROCm", file=sys.stderr)
        return None
    torch.manual_seed(1)
    return torch


def run(program, options, train):
    """Runs train(torch, options) and prints the loss; the tests look for that line. The answer is the exit status."""
    torch = start(program, options.caching)
    if torch is None:
        return 1
    loss = train(torch, options)
    torch.cuda.synchronize()
    print(f"{options.steps} steps on {torch.cuda.get_device_name()}, PyTorch {torch.__version__}: loss {loss.item():.4f}")
    return 0


def make_language_model(torch, width=512, layer_count=8, vocabulary=8192):
    """A decoder of the common kind, on the device; 34 million parameters by default."""
    nn = torch.nn

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, activation="gelu", batch_first=True,
                                               norm_first=True)
            self.tokens = nn.Embedding(vocabulary, width)
            self.layers = nn.TransformerEncoder(layer, layer_count, nn.LayerNorm(width), enable_nested_tensor=False)
            self.scores = nn.Linear(width, vocabulary)

        def forward(self, tokens):
            mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
            return self.scores(self.layers(self.tokens(tokens), mask=mask, is_causal=True))

    return LanguageModel().cuda()


def loss_of_batch(torch, model, count, length, vocabulary=8192):
    """Of the next token, in made-up sequences; in bfloat16 where PyTorch finds that safe."""
    first = torch.randint(vocabulary, (count, 1), device="cuda")
    tokens = (first + 3 * torch.arange(length + 1, device="cuda")) % vocabulary
    with torch.autocast("cuda", dtype=torch.bfloat16):
        scores = model(tokens[:, :-1])
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
