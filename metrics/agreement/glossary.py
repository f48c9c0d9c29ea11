"""What each coefficient, column and sign says, in a sentence or two: the handbook prints these
texts, and the pages show them, translated, where the number stands."""


def gettext_noop(text: str) -> str:
    """Marks a text that pages translate."""
    return text


_ = gettext_noop

# By the name of a coefficient without its weights: what it is called, and what it says.
COEFFICIENTS: dict[str, tuple[str, str]] = {
    "percent_agreement": (
        _("Percent agreement"),
        _(
            "How often two ratings of the same item are the same. Not corrected for chance: where "
            "one answer is frequent, it is high without any skill."
        ),
    ),
    "fleiss_kappa": (
        _("Fleiss’ kappa"),
        _(
            "Agreement beyond chance of any number of raters, who may be others for each item: 1 "
            "is full agreement, 0 is what chance gives. Chance is how often each category is used "
            "by all."
        ),
    ),
    "fleiss_kappa_gwet": (
        _("Fleiss’ kappa, margins by item"),
        _(
            "Fleiss’ kappa in which each item counts once in what chance gives, however many "
            "ratings it has. It differs from Fleiss’ kappa only where items have unequal numbers "
            "of ratings."
        ),
    ),
    "fleiss_kappa_category": (
        _("Fleiss’ kappa of each category"),
        _(
            "Agreement beyond chance on one category against all others. A low value names the "
            "category whose guideline needs work."
        ),
    ),
    "conger_kappa": (
        _("Conger’s kappa"),
        _(
            "Agreement beyond chance of these raters, each with an own habit: chance is that two "
            "different raters happen to give the same. Of two raters it is Cohen’s kappa."
        ),
    ),
    "light_kappa": (
        _("Light’s kappa"),
        _("The mean of Cohen’s kappas over all pairs of raters that share an item."),
    ),
    "gwet_ac1": (
        _("Gwet’s AC1"),
        _(
            "Agreement beyond chance that stays stable where nearly all items are in one category. "
            "It takes little for chance, so it is mostly higher than kappa; with weights it is "
            "AC2."
        ),
    ),
    "brennan_prediger": (
        _("Brennan-Prediger"),
        _(
            "Agreement beyond chance where chance gives every category equally often, whatever the "
            "raters’ habits are."
        ),
    ),
    "krippendorff_alpha_nominal": (
        _("Krippendorff’s alpha, nominal"),
        _(
            "Agreement beyond chance of any raters with any ratings missing, corrected for few "
            "items. Categories are the same or not. 0.8 and more is customary, 0.667 the least."
        ),
    ),
    "krippendorff_alpha_ordinal": (
        _("Krippendorff’s alpha, ordinal"),
        _(
            "Krippendorff’s alpha where categories have an order: a disagreement weighs more, the "
            "more ratings lie between the two categories."
        ),
    ),
    "krippendorff_alpha_interval": (
        _("Krippendorff’s alpha, interval"),
        _(
            "Krippendorff’s alpha where categories are numbers: a disagreement weighs as its "
            "squared difference."
        ),
    ),
    "krippendorff_alpha_ratio": (
        _("Krippendorff’s alpha, ratio"),
        _(
            "Krippendorff’s alpha where numbers have a true zero: a difference weighs in "
            "proportion to the size of the numbers."
        ),
    ),
    "cohen_kappa": (
        _("Cohen’s kappa"),
        _(
            "Agreement of two raters beyond what their own habits give: 1 is full agreement, 0 is "
            "what two independent raters with these habits reach."
        ),
    ),
    "weighted_kappa": (
        _("Cohen’s weighted kappa"),
        _(
            "Cohen’s kappa in which near misses count as partly agreed. With quadratic weights it "
            "is Lin’s concordance of the ranks, and nearly the intraclass correlation."
        ),
    ),
    "cohen_kappa_category": (
        _("Cohen’s kappa of each category"),
        _("Cohen’s kappa of two raters on one category against all others."),
    ),
    "kappa_max": (
        _("Largest kappa that the margins allow"),
        _(
            "The largest kappa that these two could reach, as often as each of them uses the "
            "categories. What is missing from it to 1 is a difference of habits."
        ),
    ),
    "scott_pi": (
        _("Scott’s pi"),
        _(
            "Like Cohen’s kappa, but chance is how often the two together use each category. A "
            "difference of habits makes it lower than Cohen’s."
        ),
    ),
    "pabak": (
        _("PABAK, adjusted for prevalence and bias"),
        _(
            "Kappa as it would be if all categories were used equally often by both: it rests on "
            "the percent agreement alone."
        ),
    ),
    "prevalence_index": (
        _("Prevalence index"),
        _(
            "How unequally often the two categories occur, from -1 to 1. Far from 0 kappa is low "
            "even when most answers agree."
        ),
    ),
    "bias_index": (
        _("Bias index"),
        _(
            "How much more often one of the two gives the first category than the other does, from "
            "-1 to 1; 0 is no difference."
        ),
    ),
    "pearson": (
        _("Pearson’s correlation"),
        _(
            "Whether the two move together on a straight line. No agreement: somebody who is "
            "always 5 higher has 1."
        ),
    ),
    "spearman": (
        _("Spearman’s rank correlation"),
        _(
            "Whether the two put the items in the same order. No agreement: somebody who is always "
            "higher has 1."
        ),
    ),
    "kendall_tau_b": (
        _("Kendall’s tau-b"),
        _(
            "How much more often two items stand in the same order for both raters than in the "
            "opposite one; ties are taken into account."
        ),
    ),
    "lin_ccc": (
        _("Lin’s concordance"),
        _(
            "Whether the two give the same numbers: correlation, made smaller by a difference of "
            "level or spread. Equal to quadratically weighted kappa on these numbers."
        ),
    ),
    "kendall_w": (
        _("Kendall’s W"),
        _(
            "Whether all raters put the items in the same order: 1 is the same order, 0 is none in "
            "common. Level does not count, so it is no agreement."
        ),
    ),
    "icc1": (
        _("ICC(1,1), one-way"),
        _(
            "How much of the differences among ratings are differences among items, where each "
            "item may have other raters."
        ),
    ),
    "icc2": (
        _("ICC(A,1), absolute agreement"),
        _(
            "Absolute agreement of one rater with another on the number itself: a rater who is "
            "always 5 higher makes it smaller. The one to report for numbers."
        ),
    ),
    "icc3": (
        _("ICC(C,1), consistency"),
        _(
            "Consistency: whether raters keep the same distances between items. A rater who is "
            "always 5 higher does not make it smaller."
        ),
    ),
    "icc1k": (
        _("ICC(1,k), mean of the raters"),
        _("ICC(1,1) of the mean of all raters instead of a single one."),
    ),
    "icc2k": (
        _("ICC(A,k), mean of the raters"),
        _("ICC(A,1) of the mean of all raters: for when you use the mean, not one rating."),
    ),
    "icc3k": (
        _("ICC(C,k), mean of the raters"),
        _("ICC(C,1) of the mean of all raters; it is Cronbach’s alpha."),
    ),
    "mcnemar": (
        _("McNemar, corrected for continuity"),
        _(
            "Tests whether two raters give the first of two categories equally often. A small p "
            "says that they do not."
        ),
    ),
    "bowker": (
        _("Bowker: disagreements go both ways equally often"),
        _(
            "Tests whether disagreements go both ways equally often, for every two categories. A "
            "small p says that one direction prevails."
        ),
    ),
    "stuart_maxwell": (
        _("Stuart-Maxwell: both use the categories equally often"),
        _(
            "Tests whether two raters use all categories equally often. A small p says that they "
            "do not."
        ),
    ),
    "mean_pairwise_kappa": (
        _("Mean pairwise kappa"),
        _(
            "The plain mean of Cohen’s kappas of all pairs: a pair with one shared item counts "
            "like one with a thousand."
        ),
    ),
    "mean_pairwise_kappa_by_items": (
        _("Mean pairwise kappa by shared items"),
        _(
            "The mean of Cohen’s kappas of all pairs, each counted by the items that both rated. "
            "It is about these raters, where Fleiss’ kappa is about any."
        ),
    ),
    "vs_peers": (
        _("Kappa with peers"),
        _("Agreement beyond chance of one rater with everybody else on the same items."),
    ),
    "vs_peers_percent": (
        _("Percent agreement with peers"),
        _("How often a rater’s answer is that of another rater of the item."),
    ),
    "vs_peers_bias": (
        _("Bias against peers"),
        _(
            "How much higher or lower a rater answers than the others on the same items, in steps "
            "of the scale or in its numbers."
        ),
    ),
    "mean_difference": (
        _("Mean difference"),
        _("How much higher the first of two raters answers, on average."),
    ),
}
# Forms of them that have a name of their own.
FORMS: dict[str, str] = {
    "gwet_ac2": _("Gwet’s AC2"),
    "mcnemar_exact": _("McNemar, exact"),
}

# Signs and columns beside the coefficients.
TERMS: dict[str, tuple[str, str]] = {
    "interval": (
        _("95 % interval"),
        _(
            "In brackets: where the true value lies, in 95 of 100 such studies. Wide means few "
            "items; two values whose intervals overlap much may be the same."
        ),
    ),
    "band": (
        _("In words"),
        _(
            "A convention that gives sizes a name; the project chooses whose. Words made for kappa "
            "fit other coefficients loosely, and none fits every purpose."
        ),
    ),
    "bar": (
        _("Bar"),
        _(
            "What this project wants to reach, such as 0.667 or 0.8 (Krippendorff) or 0.75 "
            "(Fleiss). It is reached for sure when the whole interval lies above."
        ),
    ),
    "observed": (
        _("Observed"),
        _("The share of pairs of ratings that agree; with weights, near misses count in part."),
    ),
    "expected": (
        _("By chance"),
        _(
            "The agreement that raters would reach who do not look at the items. Coefficients "
            "differ in what they call chance: kappa = (observed - chance) / (1 - chance)."
        ),
    ),
    "rests_on": (
        _("Rests on"),
        _(
            "The items or pairs of raters that the value is made of. An item with one rating "
            "compares nothing."
        ),
    ),
    "weights": (
        _("Weights"),
        _(
            "How much two different answers still agree: none (not at all), linear (less with each "
            "step), quadratic (near misses cost little), or custom."
        ),
    ),
    "p": (
        _("p"),
        _(
            "How probable a difference of this size would be if there were none. Small says that "
            "it is no accident, not that it is large."
        ),
    ),
    "policies": (
        _("Rules about missing ratings"),
        _(
            "What to do with items that not everybody rated: take what there is, count each item "
            "once, drop incomplete items, or take only items with two ratings."
        ),
    ),
    "scores": (
        _("Scores"),
        _(
            "Numbers that stand for the categories: their own values, or the mean of a gold score "
            "of the items that raters put in them. Quadratic weights on scores make kappa Lin’s "
            "concordance."
        ),
    ),
    "trend": (
        _("Over time"),
        _(
            "The coefficient of the items of each period; dashed, of all items until then. An item "
            "belongs to the day of its latest rating."
        ),
    ),
    "pairs": (
        _("Who agrees with whom"),
        _(
            "Cohen’s kappa of every two raters on the items that both rated. Outlined: too few "
            "items to be sure."
        ),
    ),
    "sensitivity": (
        _("Does it depend on the weights?"),
        _(
            "The same coefficient under each weighting. When all lie in the same band, the "
            "conclusion is robust."
        ),
    ),
    "groups": (
        _("People and models"),
        _("The same coefficient among people, among models, and between the two."),
    ),
    "harm": (
        _("Harm"),
        _(
            "Ratings times how far the rater’s kappa lies below the middle rater’s: how many "
            "ratings would have to be better, and by how much."
        ),
    ),
    "seconds": (_("Seconds per item"), _("The median time of a rater’s newest timed ratings.")),
}
