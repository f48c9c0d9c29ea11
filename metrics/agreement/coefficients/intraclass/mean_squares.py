"""The analysis of variance behind the intraclass correlations."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ROUNDING_TOLERANCE = (
    1e-12  # share of the total mean square; a smaller mean square is rounding error
)


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of the two-way analysis of variance of a complete table of n items and R raters.

    msr, msc, mse, msw: of items (rows), raters (columns), error and within items.
    """

    n: int
    raters: int
    msr: float
    msc: float
    mse: float
    msw: float

    @classmethod
    def from_values(cls, values: npt.NDArray[np.float64]) -> "MeanSquares":
        """Return the mean squares of a complete table of values (n, R)."""
        n, raters = values.shape
        centred = values - values.mean()
        item_means, rater_means = centred.mean(axis=1), centred.mean(axis=0)
        residual = centred - item_means[:, None] - rater_means[None, :]
        within = centred - item_means[:, None]
        sums = (
            raters * float((item_means**2).sum()),
            n * float((rater_means**2).sum()),
            float((residual**2).sum()),
            float((within**2).sum()),
        )
        return cls._from_sums(n, raters, sums, total=float((centred**2).sum()))

    @classmethod
    def from_counts(
        cls,
        counts: npt.ArrayLike,
        n_items: npt.ArrayLike,
        raters: npt.ArrayLike,
        values: npt.ArrayLike,
    ) -> "MeanSquares":
        """Return the mean squares of complete items, from counts by category.

        counts (P, k): patterns; n_items (P,): their numbers of items; raters (R, k): number of
        times that each rater uses each category on these items; values (k,): the categories'
        values.
        """
        patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
        rater_counts, v = np.asarray(raters, float), np.asarray(values, float)
        n, n_raters = int(items.sum()), len(rater_counts)
        pooled = items @ patterns
        v = v - (pooled @ v) / pooled.sum()
        total = float(pooled @ v**2)
        items_square = n_raters * float(items @ (patterns @ v / n_raters) ** 2)
        raters_square = n * float(((rater_counts @ v / n) ** 2).sum())
        within = max(total - items_square, 0.0)
        sums = (items_square, raters_square, max(within - raters_square, 0.0), within)
        return cls._from_sums(n, n_raters, sums, total=total)

    @classmethod
    def _from_sums(
        cls, n: int, raters: int, sums: tuple[float, float, float, float], *, total: float
    ) -> "MeanSquares":
        """Return the mean squares from the sums of squares of items, raters, error and within."""
        largest = max(total / max(n * raters, 1), 1e-300)

        def divide_by_df(total: float, df: int) -> float:
            """Return the mean square, 0 where it is only rounding error."""
            return total / df if total / df > ROUNDING_TOLERANCE * largest else 0.0

        items_square, raters_square, error, within = sums
        return cls(
            n,
            raters,
            msr=divide_by_df(items_square, n - 1),
            msc=divide_by_df(raters_square, raters - 1),
            mse=divide_by_df(error, (n - 1) * (raters - 1)),
            msw=divide_by_df(within, n * (raters - 1)),
        )
