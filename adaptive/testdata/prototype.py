"""A second derivation, from docs/adaptive.md, of what TestAgainstPrototype checks: the radius of three
looks at three columns, what clipping takes (Lost), and the frame that follows. Needs numpy.

    python3 adaptive/testdata/prototype.py
"""
import math

import numpy as np

N, M = 2000.0, 3
S = 4.2246788893288878  # sd of Gaussian noise for ε = 1, δ = 1e-6 at sensitivity 1
STANDS_OUT, GAP, ALONE, DOUBT, LIGHTEST, STEEPER = 2.5, 0.4, 3.25, 0.25, 1.7, 6
FIRST, LATER, LAST = 0.13707196199378816, 0.13707196199378816, 0.49299007126096506  # shares of the looks

count_sd = 9.5
counts = np.array([3, -7, 5, 20, -4, 16, 40, 33, 70, 110, 160, 230, 301, 330, 280, 205, 120, 60, 30,
                   -9, 14, 6, -12, 8, 3, -5, 11, 2, -6, 4, 1, 0, -3], float)
k = len(counts)
counts += (N - counts.sum()) / k
upper = 2 ** ((np.arange(k) - 8) / 2)


def lost(stands):
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
    out = [h[j] > (stands + GAP * (j - seen)) * sd[j] or counts[j] > ALONE * count_sd for j in range(k)]
    end = max([seen] + [j for j in range(seen + 1, k) if out[j]])
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


def best(sd, t):
    """The bin at whose upper edge noise, of this sd where R is 1, and clipping hide least."""
    return int((math.sqrt(M) * sd * upper + 0.5 / M * t).argmin())


def radius(share, weight, last=False):
    """R, κ, Lost, and the noise on a square."""
    t, unit = lost(1 if last else STANDS_OUT), math.sqrt(2) * (1 + weight**2) * S / math.sqrt(share)
    at = best(unit, t)
    if last:  # where a slope moves least
        t = np.minimum(t, 1e300)
        moves = np.minimum(1.5 / (M - 1) * np.sqrt(0.0196 + 2.5 / (t / upper + 8)), 0.35) * t
        at = int((np.hypot(unit * upper, moves) / np.maximum(1 - 2 * unit * upper / N, 0.01)).argmin())
    r = math.sqrt(upper[at])
    return r, weight * r, t[at], unit * upper[at]


def following(c, w, z, r, kappa, taken, sd):
    """Centre and W of the frame after a look, given by its c, W and z and what radius() says of it."""
    inverse = np.linalg.inv(w)
    spread = np.linalg.norm(inverse, axis=1)
    mean, mean_noise = z[:M] / N, sd / (math.sqrt(2) * kappa) / N
    centre = np.clip(c + inverse @ mean / (1 + (spread * mean_noise / 0.5) ** 2), -1, 1)
    second = np.zeros((M, M))
    second[np.triu_indices(M)] = z[M:] / N
    second = np.triu(second, 1).T + second
    d = w @ (centre - c)
    s = second - np.outer(d, mean) - np.outer(mean, d) + np.outer(d, d)
    hidden = min(0.7 * (math.sqrt(M) * sd + 0.5 / M * taken) / N, 1)
    values, vectors = np.linalg.eigh(s)
    cov = inverse @ (vectors * np.clip(values, hidden, 4)) @ vectors.T @ inverse.T
    noise = spread**2 * np.hypot(sd / N, 2 * (centre - c) / spread * mean_noise)
    whole = 1 + 0.5 * taken / N / (1e-7 + np.maximum(np.diag(s), 0).sum())
    t = np.sqrt(np.maximum(whole * np.diag(inverse @ s @ inverse.T) + noise, 0))
    near = np.minimum(1 - abs(centre) + spread * mean_noise, 1)
    foreseen = min(math.sqrt(upper[best(sd / r**2 / 3, lost(STANDS_OUT))]), 8)
    asked = np.maximum(foreseen * spread, 10 * np.sqrt(np.diag(cov)))
    reach = np.minimum(np.minimum(10 * t**3 / near**2, asked), 1 + abs(centre))
    np.fill_diagonal(cov, np.maximum(np.diag(cov), 0.64 * reach**2 / (M + 2 * math.sqrt(2 * M))) + 1e-7)
    return centre, np.linalg.inv(np.linalg.cholesky(cov))


first, later = radius(FIRST, 1 / 2), radius(LATER, 1 / 4)
print(first)
print(later)
print(radius(LAST, 1 / 4, True))
z = np.array([120, -340, 55, 1900, 210, -90, 900, 333, 1500], float)
for x in following(np.array([0.1, -0.6, 0.25]), np.array([[4, 0, 0], [-1.5, 3, 0], [0.5, -2, 6]], float), z, *later):
    print(np.round(x, 8))
# Of rows at an end of the box, a column's reach ends the first spread, ten spreads the second, the box the last.
z = np.array([120, -40, 55, 700, 210, -90, 5000, 333, 3000], float)
for x in following(np.array([-0.75, -0.97, -0.93]), np.diag([4.0, 20, 3]), z, *later):
    print(np.round(x, 8))
