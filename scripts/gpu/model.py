"""A model made of many kinds of layers, so that a training step runs many kinds of kernels.

It learns nothing useful.  It works on any device, which is how its code is tested.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

BATCH, CHANNELS, SIDE, TOKENS, WIDTH, CLASSES = 16, 16, 32, 24, 64, 10


class ImageBranch(nn.Module):
    """Convolutions, three kinds of normalisation and of pooling, several activations."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, CHANNELS, 3, padding=1)
        self.batch_norm = nn.BatchNorm2d(CHANNELS)
        self.depthwise = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=CHANNELS)
        self.group_norm = nn.GroupNorm(4, CHANNELS)
        self.instance_norm = nn.InstanceNorm2d(CHANNELS, affine=True)
        self.up = nn.ConvTranspose2d(CHANNELS, CHANNELS, 2, stride=2)
        self.head = nn.Linear(2 * CHANNELS, WIDTH)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.batch_norm(self.stem(image)))
        x = F.max_pool2d(x, 2)
        x = F.silu(self.group_norm(self.depthwise(x)))
        x = F.leaky_relu(self.instance_norm(self.up(F.avg_pool2d(x, 2))))
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        x = F.hardswish(F.pad(x, (1, 1, 1, 1), mode="reflect"))
        average = F.adaptive_avg_pool2d(x, 1).flatten(1)
        largest = F.adaptive_max_pool2d(x, 1).flatten(1)
        features: torch.Tensor = self.head(torch.cat((average, largest), dim=1))
        return features


class TextBranch(nn.Module):
    """Embedding, recurrence, attention and a mixture of element-wise operations."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, WIDTH)
        self.recurrent = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(
            WIDTH, 4, 2 * WIDTH, dropout=0.1, batch_first=True
        )
        self.bilinear = nn.Bilinear(WIDTH, WIDTH, 8)
        self.project = nn.Linear(WIDTH + 8, WIDTH)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        x, _ = self.recurrent(x)
        x = self.encoder(x)
        weights = F.softmax(x.mean(dim=2), dim=1).unsqueeze(2)
        summary = (x * weights).sum(dim=1)
        pairs = torch.tanh(self.bilinear(summary, x.amax(dim=1)))
        features: torch.Tensor = F.gelu(self.project(torch.cat((summary, pairs), dim=1)))
        return features


class Model(nn.Module):
    """Both branches, and a loss that adds up several others."""

    def __init__(self) -> None:
        super().__init__()
        self.image = ImageBranch()
        self.text = TextBranch()
        self.classify = nn.Linear(2 * WIDTH, CLASSES)

    def forward(
        self, image: torch.Tensor, tokens: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        left, right = self.image(image), self.text(tokens)
        scores = self.classify(F.dropout(torch.cat((left, right), dim=1), 0.1))
        target = F.one_hot(labels, CLASSES).float()
        loss = F.cross_entropy(scores, labels) + F.mse_loss(torch.sigmoid(scores), target)
        loss = (
            loss
            + F.smooth_l1_loss(left, right)
            + F.cosine_embedding_loss(left, right, torch.ones_like(labels))
        )
        return loss + shuffle(scores, left) + F.softplus(F.elu(left) - F.mish(right)).mean()


def shuffle(scores: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    """Sorting, selecting, scanning and scattering."""
    ordered, order = torch.sort(scores, dim=1, descending=True)
    best, _ = torch.topk(features, 5, dim=1)
    running = torch.cumsum(best, dim=1)
    picked = torch.gather(features, 1, order)
    where = torch.where(picked > 0, picked.exp().clamp(max=10.0), picked.abs().sqrt() + 1e-3)
    scattered = torch.zeros_like(features).scatter_add(1, order, where)
    rolled = torch.roll(scattered, 3, dims=1).flip(0).index_select(0, order[:, 0])
    return ordered.var(dim=1).mean() + running.norm() * 1e-3 + rolled.pow(3).mean() * 1e-3


def optimizers(model: Model) -> list[torch.optim.Optimizer]:
    """A different optimizer for each part."""
    return [
        torch.optim.SGD(model.image.parameters(), lr=1e-3, momentum=0.9, nesterov=True),
        torch.optim.AdamW(model.text.encoder.parameters(), lr=1e-4),
        torch.optim.RMSprop(model.text.recurrent.parameters(), lr=1e-4),
        torch.optim.Adagrad(model.text.embedding.parameters(), lr=1e-3),
        torch.optim.Adam(
            [
                *model.text.bilinear.parameters(),
                *model.text.project.parameters(),
                *model.classify.parameters(),
            ],
            lr=1e-4,
            foreach=False,
        ),
    ]
