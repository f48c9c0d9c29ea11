"""COEFFICIENTS: what is computed, in one place. docs/statistics.md, the report and the tests loop
over it.

Adding a coefficient: its function in a family's file, its values in report.py, one entry here with
a published example.
"""

from dataclasses import dataclass

_NO_PAIRS = "no_pairable_items"
_SINGLE = "single_category"
_BOTH = (_NO_PAIRS, _SINGLE)
_TWO = ("needs_two_raters", _NO_PAIRS)
_COMPLETE = ("needs_two_raters", "needs_complete_items", "too_few_items", "zero_variance")


@dataclass(frozen=True)
class Example:
    """A value as printed in a publication or an established program: `value` is what report()
    rounds to."""

    case: str  # file name of the case among the tests' known truth
    name: str
    value: str
    printed: str


@dataclass(frozen=True)
class Coefficient:
    """One coefficient; `formula` in the glossary's symbols."""

    title: str
    formula: str
    low: float | None  # None: not bounded
    high: float | None
    undefined: tuple[str, ...]  # reasons that it can have
    error: str  # what the standard error and interval are
    source: str
    example: Example
    weighted: tuple[str, ...] = ()  # suffixes of its weighted forms
    base: str = ""  # weighted forms are named after this, after itself when empty


_IRRCAC = "irrCAC raw formula, t(n - 1)"
_TABLE = "delta method on the cells / n (Fleiss, Cohen & Everitt 1969), t(n - 1); also with the normal quantile and se0"
_NO_SE = "none; bootstrap"
_SUFFIXES = ("linear", "quadratic", "custom")
_GWET4 = "10_krippendorff2011_gwet_4raters"
_DIAGNOSES = "08_fleiss1971_diagnoses"
_GRADES = "05_seed002_custom_weights"
_KRIPPENDORFF = "Krippendorff 2011"
_IRRCAC_README = "irrCAC README"
_ALPHA = "alpha = 1 - (N - 1) sum o_cl d_cl / sum n_c n_l d_cl,   "
_ALPHA_SOURCE = "Krippendorff 2019, Content Analysis, 4th ed., ch. 12"
_BYRT = "Byrt, Bishop & Carlin 1993, Journal of Clinical Epidemiology 46, 423-429"
_SHROUT = "Shrout & Fleiss 1979, Psychological Bulletin 86, 420-428"
_ICC_CI = "F test and F interval"


def _icc(title: str, formula: str, name: str, value: str) -> Coefficient:
    example = Example("15_shrout_fleiss1979", name, value, "Shrout & Fleiss 1979, table 4")
    # its denominator can be negative when raters differ less than chance
    high = None if name == "icc2k" else 1
    return Coefficient(title, formula, None, high, _COMPLETE, _ICC_CI, _SHROUT, example)


COEFFICIENTS: dict[str, Coefficient] = {
    "percent_agreement": Coefficient(
        "Percent agreement",
        "P_o = mean over items with m_i >= 2 of sum w_jl n_ij (n_il - [j=l]) / (m_i (m_i - 1))",
        0, 1, (_NO_PAIRS,), _IRRCAC, "Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed.",
        Example(_GWET4, "percent_agreement", "0.81818", _IRRCAC_README), _SUFFIXES,
    ),
    "fleiss_kappa": Coefficient(
        "Fleiss' kappa, pooled (this project's definition)",
        "(P_o - P_e) / (1 - P_e),   P_e = p'Wp,   p_j = sum_i n_ij / M over all ratings",
        None, 1, _BOTH, "delta method for the pooled estimator, t(n - 1)",
        "Fleiss 1971, Psychological Bulletin 76, 378-382",
        Example(_DIAGNOSES, "fleiss_kappa", "0.430", "Fleiss 1971"), _SUFFIXES,
    ),
    "fleiss_kappa_gwet": Coefficient(
        "Fleiss' kappa as Gwet generalises it",
        "(P_o - P_e) / (1 - P_e),   P_e = p'Wp,   p_j = mean over rated items of n_ij / m_i",
        None, 1, _BOTH, _IRRCAC, "Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed.",
        Example(_GWET4, "fleiss_kappa_gwet", "0.76117", _IRRCAC_README), _SUFFIXES,
    ),
    "fleiss_kappa_category": Coefficient(
        "Fleiss' kappa of each category versus the rest",
        "fleiss_kappa of the two categories j and not j",
        None, 1, _BOTH, "delta method, t(n - 1)", "Fleiss 1971, Psychological Bulletin 76, 378-382",
        Example(_DIAGNOSES, "fleiss_kappa_category", "0.245 0.245 0.520 0.471 0.566", "R irr kappam.fleiss"),
    ),
    "conger_kappa": Coefficient(
        "Conger's kappa",
        "(P_o - P_e) / (1 - P_e),   P_e = sum w_jl (pbar_j pbar_l - S_jl / R)",
        None, 1, _BOTH, _IRRCAC, "Conger 1980, Psychological Bulletin 88, 322-328",
        Example(_GWET4, "conger_kappa", "0.76282", _IRRCAC_README), _SUFFIXES,
    ),
    "light_kappa": Coefficient(
        "Mean pairwise kappa (Light's)",
        "mean of Cohen's kappas over the pairs of raters for which it is defined",
        None, 1, _BOTH, _NO_SE, "Light 1971, Psychological Bulletin 76, 365-377",
        Example("13_irr_anxiety_icc", "light_kappa", "-0.01748", "verified case"), _SUFFIXES,
    ),
    "gwet_ac1": Coefficient(
        "Gwet's AC1; AC2 with weights",
        "(P_o - P_e) / (1 - P_e),   P_e = T_w sum p_j (1 - p_j) / (k (k - 1)),   p_j = mean of n_ij / m_i",
        None, 1, (_NO_PAIRS,), _IRRCAC, "Gwet 2008, British J. of Mathematical and Statistical Psychology 61, 29-48",
        Example(_GWET4, "gwet_ac1", "0.77544", _IRRCAC_README), _SUFFIXES, "gwet_ac2",
    ),
    "brennan_prediger": Coefficient(
        "Brennan-Prediger", "(P_o - P_e) / (1 - P_e),   P_e = T_w / k^2",
        None, 1, (_NO_PAIRS,), _IRRCAC,
        "Brennan & Prediger 1981, Educational and Psychological Measurement 41, 687-699",
        Example(_GWET4, "brennan_prediger", "0.77273", _IRRCAC_README), _SUFFIXES,
    ),
    "krippendorff_alpha_nominal": Coefficient(
        "Krippendorff's alpha, nominal", _ALPHA + "d_cl = [c != l]",
        None, 1, _BOTH, "irrCAC krippen.alpha.raw, t(n2 - 1)", _ALPHA_SOURCE,
        Example(_GWET4, "krippendorff_alpha_nominal", "0.743", _KRIPPENDORFF),
    ),
    "krippendorff_alpha_ordinal": Coefficient(
        "Krippendorff's alpha, ordinal", _ALPHA + "d_cl = (sum of n_g over g = c..l - (n_c + n_l) / 2)^2",
        None, 1, _BOTH, _NO_SE, _ALPHA_SOURCE, Example(_GWET4, "krippendorff_alpha_ordinal", "0.815", _KRIPPENDORFF),
    ),
    "krippendorff_alpha_interval": Coefficient(
        "Krippendorff's alpha, interval", _ALPHA + "d_cl = (v_c - v_l)^2",
        None, 1, _BOTH, "irrCAC krippen.alpha.raw, t(n2 - 1)", _ALPHA_SOURCE,
        Example(_GWET4, "krippendorff_alpha_interval", "0.849", _KRIPPENDORFF),
    ),
    "krippendorff_alpha_ratio": Coefficient(
        "Krippendorff's alpha, ratio", _ALPHA + "d_cl = ((v_c - v_l) / (v_c + v_l))^2, 0 where v_c + v_l = 0",
        None, 1, _BOTH, "irrCAC krippen.alpha.raw, t(n2 - 1)", _ALPHA_SOURCE,
        Example(_GWET4, "krippendorff_alpha_ratio", "0.797", _KRIPPENDORFF),
    ),
    "cohen_kappa": Coefficient(
        "Cohen's kappa", "(P_o - P_e) / (1 - P_e),   P_o = sum p_jj,   P_e = sum r_j c_j",
        -1, 1, (*_TWO, _SINGLE), _TABLE, "Cohen 1960, Educational and Psychological Measurement 20, 37-46",
        Example("12_gwet_cont3x3abstractors", "cohen_kappa", "0.79641", _IRRCAC_README),
    ),
    "weighted_kappa": Coefficient(
        "Weighted kappa", "(P_o - P_e) / (1 - P_e),   P_o = sum w_jl p_jl,   P_e = sum w_jl r_j c_l",
        None, 1, (*_TWO, _SINGLE), _TABLE, "Cohen 1968, Psychological Bulletin 70, 213-220",
        Example("09_cohen1968_diagnosis_custom_weights", "weighted_kappa_custom", "0.348", "Cohen 1968"), _SUFFIXES,
    ),
    "cohen_kappa_category": Coefficient(
        "Cohen's kappa of each category versus the rest", "cohen_kappa of the 2 x 2 table of j and not j",
        -1, 1, (*_TWO, _SINGLE), _TABLE, "Fleiss 1981, Statistical Methods for Rates and Proportions, 2nd ed., ch. 13",
        Example(_GRADES, "cohen_kappa_category", "0.627 0.428 0.377 0.655", "scikit-learn, one against the rest"),
    ),
    "kappa_max": Coefficient(
        "Largest kappa that the margins allow", "(sum min(r_j, c_j) - P_e) / (1 - P_e)",
        0, 1, (*_TWO, _SINGLE), _NO_SE, "Cohen 1960, Educational and Psychological Measurement 20, 37-46",
        Example(_GRADES, "kappa_max", "0.94979", "computed by hand from the margins"),
    ),
    "scott_pi": Coefficient(
        "Scott's pi", "(P_o - P_e) / (1 - P_e),   P_e = sum pi_j^2,   pi = (r + c) / 2",
        -1, 1, (*_TWO, _SINGLE), "delta method on the cells / n, t(n - 1)",
        "Scott 1955, Public Opinion Quarterly 19, 321-325",
        Example("12_gwet_cont3x3abstractors", "scott_pi", "0.79624", _IRRCAC_README),
    ),
    "pabak": Coefficient(
        "Prevalence-adjusted bias-adjusted kappa", "(k P_o - 1) / (k - 1)",
        -1, 1, _TWO, "delta method on the cells / n, t(n - 1)", _BYRT,
        Example("12_gwet_cont3x3abstractors", "pabak", "0.835", _IRRCAC_README),
    ),
    "prevalence_index": Coefficient(
        "Prevalence index, signed", "(a - d) / n of the table [[a, b], [c, d]]",
        -1, 1, (*_TWO, "needs_2x2"), "delta method on the cells / n", _BYRT,
        Example("17_feinstein_cicchetti_1b", "prevalence_index", "0.75", "table of Feinstein & Cicchetti 1990"),
    ),
    "bias_index": Coefficient(
        "Bias index, signed", "(b - c) / n of the table [[a, b], [c, d]]",
        -1, 1, (*_TWO, "needs_2x2"), "delta method on the cells / n", _BYRT,
        Example("17_feinstein_cicchetti_1b", "bias_index", "0.05", "table of Feinstein & Cicchetti 1990"),
    ),
    "pearson": Coefficient(
        "Pearson's correlation", "s_xy / (s_x s_y) of the categories' values",
        -1, 1, (*_TWO, "zero_variance"), _NO_SE, "Pearson 1895, Proceedings of the Royal Society 58, 240-242",
        Example(_GRADES, "pearson", "0.76918", "SciPy and R cor"),
    ),
    "spearman": Coefficient(
        "Spearman's rank correlation", "Pearson's correlation of average ranks",
        -1, 1, (*_TWO, "zero_variance"), _NO_SE, "Spearman 1904, American Journal of Psychology 15, 72-101",
        Example(_GRADES, "spearman", "0.77123", "SciPy and R cor"),
    ),
    "kendall_tau_b": Coefficient(
        "Kendall's tau-b", "(C - D) / sqrt((n0 - n1) (n0 - n2))",
        -1, 1, (*_TWO, "zero_variance"), _NO_SE, "Kendall 1945, Biometrika 33, 239-251",
        Example(_GRADES, "kendall_tau_b", "0.70576", "SciPy and R cor"),
    ),
    "lin_ccc": Coefficient(
        "Lin's concordance correlation", "2 s_xy / (s_xx + s_yy + (mean_x - mean_y)^2), divisor n",
        -1, 1, (*_TWO, "zero_variance"), _NO_SE, "Lin 1989, Biometrics 45, 255-268",
        Example(_GRADES, "lin_ccc", "0.76662", "equals the quadratic kappa of equally spaced values"),
    ),
    "kendall_w": Coefficient(
        "Kendall's W", "12 S / (R^2 (n^3 - n) - R sum T_g), complete items, average ranks",
        0, 1, _COMPLETE, _NO_SE, "Kendall & Babington Smith 1939, Annals of Mathematical Statistics 10, 275-287",
        Example("13_irr_anxiety_icc", "kendall_w", "0.540", "R irr ?kendall"),
    ),
    "icc1": _icc("ICC(1,1), one-way", "(MSR - MSW) / (MSR + (R - 1) MSW)", "icc1", "0.17"),
    "icc2": _icc(
        "ICC(A,1), two-way, absolute agreement",
        "(MSR - MSE) / (MSR + (R - 1) MSE + R (MSC - MSE) / n)", "icc2", "0.29",
    ),
    "icc3": _icc("ICC(C,1), two-way, consistency", "(MSR - MSE) / (MSR + (R - 1) MSE)", "icc3", "0.71"),
    "icc1k": _icc("ICC(1,k), mean of R raters", "(MSR - MSW) / MSR", "icc1k", "0.44"),
    "icc2k": _icc("ICC(A,k), mean of R raters", "(MSR - MSE) / (MSR + (MSC - MSE) / n)", "icc2k", "0.62"),
    "icc3k": _icc("ICC(C,k), mean of R raters", "(MSR - MSE) / MSR", "icc3k", "0.91"),
    "mcnemar.chi2": Coefficient(
        "McNemar's test; also corrected (chi2_cc, p_cc) and exact (p_exact)", "(b - c)^2 / (b + c), df 1",
        0, None, (*_TWO, "needs_2x2", "no_discordant_pairs"), "p from chi-square; exact p from the binomial",
        "McNemar 1947, Psychometrika 12, 153-157",
        Example("19_agresti_approval_mcnemar", "mcnemar.chi2_cc", "16.818", "R ?mcnemar.test"),
    ),
    "bowker.chi2": Coefficient(
        "Bowker's test of symmetry",
        "sum of (n_jl - n_lj)^2 / (n_jl + n_lj) over pairs with n_jl + n_lj > 0, df = number of those pairs",
        0, None, (*_TWO, "no_discordant_pairs"), "p from chi-square",
        "Bowker 1948, Journal of the American Statistical Association 43, 572-574",
        Example(_GRADES, "bowker.chi2", "4.4", "R mcnemar.test"),
    ),
    "stuart_maxwell.chi2": Coefficient(
        "Stuart-Maxwell test of equal margins", "d'V^-1 d, df = rank of V",
        0, None, (*_TWO, "no_discordant_pairs"), "p from chi-square",
        "Stuart 1955, Biometrika 42, 412-416; Maxwell 1970, British Journal of Psychiatry 116, 651-655",
        Example("18_stuart1955_vision_women", "stuart_maxwell.p", "0.00753", "R irr stuart.maxwell.mh"),
    ),
}  # fmt: skip


def report_names(name: str) -> list[str]:
    """The keys of report() that an entry of COEFFICIENTS stands for, without a custom matrix."""
    entry = COEFFICIENTS[name]
    plain = [] if name == "weighted_kappa" else [name]
    return plain + [
        f"{entry.base or name}_{suffix}" for suffix in entry.weighted if suffix != "custom"
    ]
