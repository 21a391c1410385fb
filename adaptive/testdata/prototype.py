"""A second derivation, from docs/adaptive.md, of what TestAgainstPrototype checks: the radius of two
looks at three columns, what clipping takes (Lost), and the frame that follows. Needs numpy.

    python3 adaptive/testdata/prototype.py
"""
import math

import numpy as np

N, M = 2000.0, 3
S = 4.2246788893288878  # sd of Gaussian noise for ε = 1, δ = 1e-6 at sensitivity 1
SLANT, STANDS_OUT, GAP, DOUBT, LIGHTEST, STEEPER = 0.25, 2.5, 0.4, 0.25, 1.7, 6
FIRST, LATER = 0.105, 0.11993796674444762  # shares of the looks

count_sd = 9.5
counts = np.array([3, -7, 5, 20, -4, 16, 40, 33, 70, 110, 160, 230, 301, 330, 280, 205, 120, 60, 30,
                   -9, 14, 6, -12, 8, 3, -5, 11, 2, -6, 4, 1, 0, -3], float)
k = len(counts)
counts += (N - counts.sum()) / k
upper = 2 ** ((np.arange(k) - 8) / 2)


def lost():
    """T at each upper edge: the integral of the number of rows beyond."""
    i = np.arange(k)
    sd = count_sd * np.sqrt(i * (k - i) / k)
    h = np.append(counts[::-1].cumsum()[::-1], 0)  # rows beyond the lower edge of each bin
    proven = 0
    while proven < k - 1 and h[proven + 1] + 2 * sd[proven + 1] > 0.7 * N:
        proven += 1
    seen = int(counts.argmax())
    while seen < k - 1 and counts[seen + 1] > STANDS_OUT * count_sd:
        seen += 1
    end = max([seen] + [j for j in range(seen + 1, k) if h[j] > (STANDS_OUT + GAP * (j - seen)) * sd[j]])
    at_end = max(min(h[end], N), STANDS_OUT * sd[end])
    power = LIGHTEST
    steep = [j for j in range(1, end) if min(h[j], N) >= STEEPER * at_end]
    if steep:
        j = steep[-1]
        power = max(power, math.log(min(h[j], N) / at_end) / math.log(upper[end - 1] / upper[j - 1]))
    for j in range(end, k):
        h[j] = min(at_end * (upper[end - 1] / upper[j - 1]) ** power, max(h[j], 0) + DOUBT * sd[j])
    for j in reversed(range(end)):
        h[j] = max(h[j], h[j + 1])
    h = np.minimum.accumulate(np.minimum(h, N))
    t = np.zeros(k)
    for j in reversed(range(k - 1)):
        between = (math.sqrt(h[j + 1] * h[j + 2]) + (h[j + 1] + h[j + 2]) / 2) / 2
        t[j] = t[j + 1] + (upper[j + 1] - upper[j]) * between
    t[:proven] = np.inf
    return t


def radius(share, weight):
    """R, κ, Lost, and the noise on a square."""
    t, unit = lost(), math.sqrt(2) * (1 + weight**2) * S / math.sqrt(share)
    best = int(np.hypot(unit * upper, SLANT / M * t).argmin())
    r = math.sqrt(upper[best])
    return r, weight * r, t[best], unit * upper[best]


def following(look, z):
    """Centre and W of the next frame, of the sums z that the look released."""
    r, kappa, taken, sd = look
    c = np.array([0.1, -0.8, 0.25])
    w = np.array([[4, 0, 0], [-1.5, 3, 0], [0.5, -2, 6]], float)
    inverse = np.linalg.inv(w)
    spread = np.linalg.norm(inverse, axis=1)
    mean_noise = spread * sd / (math.sqrt(2) * kappa) / N
    centre = np.clip(c + inverse @ (z[:M] / N) / (1 + (mean_noise / 0.5) ** 2), -1, 1)
    second = np.zeros((M, M))
    second[np.triu_indices(M)] = z[M:] / N
    second = np.triu(second, 1).T + second
    u = w @ (centre - c)
    hidden = min(0.7 * (math.sqrt(M) * sd + 0.5 / M * taken) / N, 1)
    values, vectors = np.linalg.eigh(second - np.outer(u, u))
    cov = inverse @ (vectors * np.clip(values, hidden, 4)) @ vectors.T @ inverse.T
    filled = M + 2 * math.sqrt(2 * M)
    foreseen = upper[int(np.hypot(sd / r**2 / 3 * upper, SLANT / M * lost()).argmin())]
    ends, other = (math.sqrt(max(foreseen / filled - x, 0)) for x in (1, 2))
    sure = 0.9 - 0.85 * hidden
    for j in range(M):
        sigma, far = math.sqrt(cov[j, j]), 1 + abs(centre[j])
        near = min(1 - abs(centre[j]) + mean_noise[j], 1)
        end, asked = sure * far / math.sqrt(filled), (ends if sigma > 1.1 * near else other) * spread[j]
        if sigma < end:
            grade = min(max((sigma / near - 0.8) / 0.4, 0), 1)
            sigma = max(sigma * (end / sigma) ** (sure * grade), min(asked, end))
        cov[j, j] = sigma**2 + 1e-7
    return centre, np.linalg.inv(np.linalg.cholesky(cov))


print(radius(FIRST, 1 / 2))
later = radius(LATER, 1 / 4)
print(later)
for x in following(later, np.array([120, -340, 55, 1900, 210, -90, 900, 333, 1500.0])):
    print(np.round(x, 8))
