"""The analysis of variance that intraclass correlations stand on."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ROUNDING = 1e-12  # of the total mean square: a mean square below is rounding


@dataclass(frozen=True)
class MeanSquares:
    """Two-way analysis of variance of a complete table of n items and R raters."""

    n: int
    raters: int
    msr: float
    msc: float
    mse: float
    msw: float

    @classmethod
    def of(cls, values: npt.NDArray[np.float64]) -> "MeanSquares":
        """Of values (n, R)."""
        n, raters = values.shape
        centred = values - values.mean()
        items, columns = centred.mean(axis=1), centred.mean(axis=0)
        residual = centred - items[:, None] - columns[None, :]
        within = centred - items[:, None]
        sums = (
            raters * float((items**2).sum()),
            n * float((columns**2).sum()),
            float((residual**2).sum()),
            float((within**2).sum()),
        )
        return cls._of_sums(n, raters, sums, total=float((centred**2).sum()))

    @classmethod
    def of_counts(
        cls,
        counts: npt.ArrayLike,
        n_items: npt.ArrayLike,
        raters: npt.ArrayLike,
        values: npt.ArrayLike,
    ) -> "MeanSquares":
        """Of the patterns (P, k) of complete items, their numbers of items (P,), how often each
        rater uses each category on them (R, k), and the categories' values (k,)."""
        patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
        own, v = np.asarray(raters, float), np.asarray(values, float)
        n, size = int(items.sum()), len(own)
        pooled = items @ patterns
        v = v - (pooled @ v) / pooled.sum()
        total = float(pooled @ v**2)
        of_items = size * float(items @ (patterns @ v / size) ** 2)
        of_raters = n * float(((own @ v / n) ** 2).sum())
        within = max(total - of_items, 0.0)
        sums = (of_items, of_raters, max(within - of_raters, 0.0), within)
        return cls._of_sums(n, size, sums, total=total)

    @classmethod
    def _of_sums(
        cls, n: int, raters: int, sums: tuple[float, float, float, float], *, total: float
    ) -> "MeanSquares":
        """From the sums of squares of items, raters, error and within items."""
        largest = max(total / max(n * raters, 1), 1e-300)

        def square(total: float, df: int) -> float:
            return total / df if total / df > ROUNDING * largest else 0.0

        of_items, of_raters, error, within = sums
        return cls(
            n,
            raters,
            msr=square(of_items, n - 1),
            msc=square(of_raters, raters - 1),
            mse=square(error, (n - 1) * (raters - 1)),
            msw=square(within, n * (raters - 1)),
        )
