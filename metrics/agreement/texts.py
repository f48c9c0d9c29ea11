"""Texts of the handbook about everything except the coefficients, one a subject, in page order."""

from .headline import TABLE

_HEADLINE_TABLE = "| why | scale | raters | complete | the coefficient |\n|---|---|---|---|---|\n"
_HEADLINE_TABLE += "\n".join(
    f"| `{told.reason}` | {', '.join(told.scales)} | {told.raters} | {told.complete} | "
    f"{told.coefficient} |"
    for told in TABLE
)
_HEADLINE = """\
## Which coefficient is read first

{table}

On ordinal scales alpha stands beside. Complete: every item that somebody rated was rated by
everybody. A lead may choose another one and says why (`chosen`). Over time, Cohen's kappa and the
ICC of two raters are exact in each period: the table of the first of them against the other, by
the days on which the first rated. The ICC of three or more needs the margins of every rater in
every period; no count holds them, and to keep them would cost each rating of a question for one
line of a chart. There alpha of the scale's metric stands for it, and the page says so: alpha is 1
- (v - c + b) / (v + (R - 1) b / R) where ICC(A,1) is 1 - (v - c + b) / (v + b), but for terms of
order 1/n, with v the mean variance within raters, c the mean covariance of two and b the variance
of the R raters' means. So they are equal where raters have the same level, and alpha is the lower
one where they do not. Of some ratings (a filter) Fleiss' kappa stands for Cohen's (of two raters
it is Scott's pi), and alpha for the ICC.

## People and models

Where both rate, what is told of a question is the people's: the number read first, the sentences,
and each rater against peers, who are then the people. Beside it stands the same coefficient of the
models and *between* both, on the items that people and models rated: with u_i and v_i the shares of
the categories among the people's and the models' ratings of item i, P_o is the mean of u_i'W v_i
and P_e is u'W v of their means; with one rater in each group this is Cohen's kappa. (The same P_o
and P_e are those of Vanbelle & Albert 2009, Psychometrika 74, 477-491.) W is that of the
coefficient: 1 - distance of alpha's metric, squared differences of values for ICC. Standard error:
delta method over items, t(n - 1).
""".replace("{table}", _HEADLINE_TABLE)

_MEAN_PAIRWISE = """\
## The mean over pairs, by shared items

`mean_pairwise_kappa` is the plain mean of the pairs' kappas (Light's): a pair with one shared item
counts like one with a thousand, so a newcomer's first rating can move it by 0.2.
`mean_pairwise_kappa_by_items` counts each pair by the items that both rated, and the pages show it.
Its standard error is sqrt(V_r + V_i): V_r is the jackknife over raters, and V_i the delta method
over items with pooled margins. The sum counts what is left of a rater on an item twice, so the
interval is rather too wide than too narrow; degrees of freedom by Satterthwaite. Of 2,000 intervals
each, with raters and items drawn anew (`benchmarks/coverage_mean_pairwise.py`), so many held the
mean over all raters:

| raters | items | rated | held | mean width |
|---|---|---|---|---|
| 3 | 50 | 100% | 96.7% | 0.74 |
| 3 | 50 | 30% | 95.8% | 1.72 |
| 3 | 200 | 100% | 93.6% | 0.61 |
| 3 | 200 | 30% | 98.2% | 1.09 |
| 5 | 50 | 100% | 96.5% | 0.47 |
| 5 | 50 | 30% | 98.6% | 1.03 |
| 5 | 200 | 100% | 95.0% | 0.36 |
| 5 | 200 | 30% | 98.6% | 0.58 |
| 10 | 50 | 100% | 97.8% | 0.30 |
| 10 | 50 | 30% | 97.8% | 0.56 |
| 10 | 200 | 100% | 95.4% | 0.23 |
| 10 | 200 | 30% | 97.5% | 0.32 |
| 30 | 50 | 100% | 97.8% | 0.17 |
| 30 | 50 | 30% | 94.8% | 0.27 |
| 30 | 200 | 100% | 96.0% | 0.12 |
| 30 | 200 | 30% | 97.4% | 0.16 |
"""

_WORKED_EXAMPLES = """\
## Worked examples of texts on kappa

`manage.py load_example --worked`, or the button *Worked examples*, makes a small project of each.
Some texts print other values; these are right:

| example | printed | right |
|---|---|---|
| two raters, five items, two categories | kappa 0.615 | 0.615 [-0.27, 1], as printed |
| two raters, five items, three grades, quadratic weights | table 1,1,0 / 1,2,0 / 0,0,1 of six | \
1,1,0 / 1,1,0 / 0,0,1 of five; kappa 9/14 = 0.643, not 11/17 = 0.647 |
| ten labels, a case study | table 3,2 / 2,3; P_o 0.6; kappa 0.2 | 4,1 / 2,3; 0.7; 0.4 |
| ten labels, from code | nothing | kappa 0.4 |
| ten critics, one painting, 7 to 3 | P_o 24/45 | P_o 24/45, Fleiss' kappa -1/9, alpha 0; no \
interval, for a single item tells nothing |
| a nurse who always reads 5 more | any index of agreement is low | ICC(A,1) 0.978, ICC(C,1) 1, \
percent agreement 0: it depends on how much patients differ |
| quadratic weights on scores, 80 cases in four grades | weighted kappa is the ICC | it is Lin's \
concordance; ICC(A,1) is nearly the same: 0.7666 and 0.7689 by rank, 0.7213 and 0.7239 where the \
grades have the mean gold score of their cases, 5, 6, 10 and 25 |
"""

_PEERS_AND_TRENDS = """\
## One rater against peers

`vs_peers` is kappa of the table of the rater's own category against every other rating of the
same items (Williams 1976, Biometrics 32, 619-627 has the idea of one against a group),
`vs_peers_percent` its percent agreement, and `vs_peers_bias` the mean signed difference own less
others in category values or ranks. Their standard errors are the delta method with items as
clusters (Liang & Zeger 1986, Biometrika 73, 13-22), exact from additive integer counts. On scales
of more than 12 categories the counts for that are not kept and the interval is the wider one that
takes an item's other raters as one voice. Of the whole time the values are stored; those of a
day, a week or a month are computed when somebody asks, by the same formulas from the counts of its
days.

## Two raters over time

An item that both rated belongs to the day of the later of the two ratings. `mean_difference` is
the mean of first less second in category values or ranks, its standard error s / sqrt(n) over the
period's items, its interval that of t(n - 1). A drift is told at the period that splits the
course most clearly, when the means before and after are more than three standard errors and 0.15
apart.

## A question in the last weeks

Lists of questions show what is read first in the last 12 weeks, from Monday to Sunday, as the trend
does; weeks of fewer than 10 items are left out. The change in 4 weeks is the mean of the last four
of them, each by its items, less that of the four before. An item is in one week alone, so its
standard error is that of two independent means; "may be chance" is said of up to two of them.
Confused most are the two of three or more categories with the largest share of all disagreement
(the coincidence matrix), however large it is.

## What explains a move

Leave-one-out: with the move of Fleiss' kappa between two periods on all ratings, the contribution
of a rater, a category or a group of items is the move less the move that is left without their
ratings in both periods. What two raters do together shows in both, or in neither, so
contributions need not add up. Beside it stand the pairs of raters whose mean signed difference on
shared items (10 or more in each period) moved by more than three standard errors: a drift that
weighted kappa may hardly see.
"""

_GOLD_TO_LABEL_SETS = """\
## Gold and blind repeats

`gold`: accuracy with Wilson's interval, Cohen's kappa of own x gold with chance beside it, and the
mean of own less gold. The exam is Wald's sequential test of being right 6 against 8 times in 10,
with 1 error in 20 on both sides. Who is undecided after the last question passes when the sum is 0
or more. That end costs something: of raters right 6 times in 10 an exam of at most 50 questions
lets 6.6 % pass, one of 80 lets 5.0 %; of those right 8 times in 10 they fail 6.8 % and 4.4 %
(`exam_pass_probability`, exact; the page of the rules shows it for the rules chosen there). The
evidence for a
pause is an e-process against being right with probability p0 or more: whoever is that good ever
reaches 100 with probability 1/100 at most, however often one looks. Gold itself is suspected when
raters who are right on all *other* gold make another answer more probable. `repeats`: Cohen's kappa
of first x second rating of the same rater; the project's is stratified by rater (Barlow, Lai & Azen
1991).

Repeats of a project are answers to items that the desk asked a rater again, with what the rating
said at that moment, and second rows of a file that whoever imports it keeps as such; they are
weighted as the question is. On interval and ratio scales each rater's ICC(A,1) of first and second
answer stands beside kappa, with its F interval; the project's is the stratified kappa with
quadratic weights of the values, which is what that correlation comes to (Fleiss & Cohen 1973).
Models that ran twice have their own numbers, and are in none of the project's.

In a project an answer is a standing rating of an item with gold in force, or what was said when the
desk asked it as hidden gold, weighed in the order of `rated_at`. Gold may allow several categories:
any of them is right, which enters accuracy and evidence; only gold of one category enters the table
own x gold, and so kappa, chance, bias and the classes. Gold that is shares of categories is not
scored. Suspected gold is in no score until a lead decides. Of fewer than 5 answers only their
number and the interval are shown.

## One label an item

`consensus`: the most frequent category, null (`tied`) where there are several; the heaviest one,
each vote weighing the rater's log odds of being right; and Dawid & Skene's model (1979) of what
each item is and how each rater errs, with ten pseudo-ratings a row of a rater's table, 7 of them
right, from the items' shares of ratings until no probability moves by 1e-6. It assumes that raters
err independently of each other, given the truth. Whether its certainties hold is
checked: one rating of every item with three or more is held out and predicted, and where T^tau with
tau < 1 predicts better by two standard errors, that is shown. Wrong labels in % of the items with
gold, and how many were expected (all columns and the sources stand in
[consensus.md](../benchmarks/consensus.md)):

| set | items | ratings an item | majority | weighted | Dawid-Skene | expected with T^tau |
|---|---|---|---|---|---|---|
| CF | 300 | 6 | 11.8 | 11.3 | 12.0 | 5.4 |
| CF_amt | 300 | 20 | 14.7 | 15.0 | 14.3 | 1.0 |
| MS | 700 | 4 | 29.6 | 20.3 | 22.1 | 11.7 |
| SP | 4,999 | 6 | 11.4 | 9.0 | 8.5 | 3.2 |
| SP_amt | 500 | 20 | 5.7 | 5.6 | 5.6 | 0.5 |
| ZenCrowd_all | 2,040 | 10 | 17.1 | 15.2 | 20.5 | 5.1 |
| AdultContent2 | 333 | 8 | 24.2 | 23.7 | 24.3 | 5.1 |
| ducks | 240 | 40 | 31.2 | 39.6 | 39.2 | 0.2 |

Read it soberly: no way of counting votes wins everywhere, and what raters agree on is not always
what gold says. Held-out ratings measure how well *raters* are predicted; only gold shows an error
that all of them share.

## How many more

`sample_size`: the smallest number of items at which the 95 % interval is as narrow as wanted, from
the
error so far; before any data from an assumed kappa and table (Bloch & Kraemer 1989, else the delta
method). Fewer ratings an item are judged by thinning the patterns exactly. A rating's worth is the
information that it gives about the label, in nats.

A queue may be planned (`quality/planning/queue_order.py`). *Labels*: the items come first whose next
rating tells most of their category, with the pooled habits of all raters; sure labels (0.95) are
done. *Narrow*: items get as many ratings as make the interval narrow with the fewest, before others
begin, chosen by their number of ratings alone. One item of ten is drawn at random in either. Items
that were chosen for their doubt lower every coefficient. So ratings that an order for labels asked
for, and those beyond the planned number of an item (escalation, a lead who asks for more), are left
out of what is read first, while the order is on and after: it rests on the others, says on how
many, and the coefficient of all stands beside it. What is drawn at random is drawn from the items
that the order has left places of; where it has filled the doubtful ones, ratings of these from
before still count.
Simulated on real ratings (the table with its settings:
[planning.md](../benchmarks/planning.md)), ratings needed in % of those in random order:

| set | items | ratings an item | sure labels | narrow interval |
|---|---|---|---|---|
| act_sp_amt | 500 | 20 | 43 | 94 |
| act_weather_amt | 300 | 20 | 39 | 91 |
| cubam_ducks | 240 | 40 | 28 | 85 |
| pandalm_test | 999 | 3 | 63 | 53 |
| sxs_mqm_ende | 1,040 | 3 | 96 | 89 |
| sxs_mqm_zhen | 3,770 | 3 | | 59 |
| nlu_validation | 4,650 | 2 to 11 | | 43 |
| ukpconvarg1 | 16,927 | 5 | | 38 |
| sleep_dodh | 25,440 | 5 | | 40 |

Where three ratings an item are all there is and each is needed to be sure (sxs_mqm_ende), nothing
is spared. Where items are few, a narrow interval needs nearly all ratings of all items in whatever
order. And a label that is sure is not always right: of the labels that all ratings give, the
planned order reached 87.5 % on act_weather_amt when its labels were as sure as the random order's,
which reached 92.7 %.

## Comparisons

`comparison`: Fleiss' kappa of two sets of items, t with Welch's degrees of freedom; items in both
sets enter with their covariance; beside it a permutation of items. Whether a model may replace a
human: the alternative annotator test (Calderon, Reichart & Dror 2025), from three integers a human.
Model among humans: agreement of the model with humans less that of humans with each other, each
corrected for its own chance, the error by items.

## The mean of several raters, and sets of labels

`mean_reliability`: variance of items, raters and the rest from three mean squared differences;
with complete
ratings the reliabilities are ICC(A,m) and ICC(C,m). `label_sets`: alpha between sets under
Jaccard's distance and MASI (Passonneau 2006), up to 64 sets in use, and alpha of each label.

| reason | meaning |
|---|---|
| `no_gold_ratings` | no answer on a gold item |
| `no_repeats` | nothing was rated twice by the same rater |
| `tied` | several categories are equally frequent, or equally probable |
| `needs_three_raters` | a model is compared with two humans at least, each with items enough |
| `needs_crossed_ratings` | no pairs of the same item, of the same rater, or of both different |
| `no_reliability` | items do not differ more than raters do: no number of raters is enough |
| `too_many_sets` | more than 64 different sets: the labels' own alphas are given |
"""

_FINAL_LABELS = """\
## Final labels

`quality/consensus/` gives each item its label: its decision, else its gold answer where that allows
one category alone, else what its ratings come to. By default these are people's ratings; the lead
may let models count. Decided items and gold answers are fixed in the model, so that they teach it
who is right.

| Method | Label | Certainty |
|---|---|---|
| Dawid and Skene (default) | on ordered scales the median, else the mode | its probability |
| majority, weighted by skill | the category of most weight; `tied` where several have it | none |
| majority | the most frequent category; `tied` where several are | none |

The model is always fitted to all ratings from the same start: the labels are a function of the
ratings, in whatever order they came. With one rater, or no item with two ratings, nothing can be
estimated (`no_pairable_items`): the majority is given, without a certainty. *Expected errors* of a
set of labels: the sum of 1 - certainty.

Of two adjudicators (a share of the decided items comes up again, blind, for somebody else): Fleiss'
kappa of first decisions and second opinions under the question's weights, with its interval. The
sample is of decided items, which are the hard ones: it says nothing of easy items.
"""

_DRIFT = """\
## Drift of a rater

`metrics.agreement.drift` says who began to rate otherwise than before, and since when. The promise:
**at most one false alarm in 5,000 working days of a rater**, which are 20 years of 250 days. It
holds for each rater, however often one looks; of R raters the expected false alarms add up.

**The score of an item.** Rater g is compared with every other rater h of the item. `agreement`:
(w - e) / (1 - e), w identity on nominal scales and linear on ordered ones, e expected from the
pooled shares. `bias`, on ordered scales of three categories or more: rank own - rank other, clipped
to -2..2. The level of h is taken out: d_gh is fitted as mu + a_g + s a_h (s = 1 for agreement, -1
for bias) with a ridge of 10 comparisons a rater, and x is the mean of d_gh - s a_h. So a change of
peers is no drift. From agreement the rater's week is taken out as all others had it, shrunk by how
much weeks differ. So a hard week is no drift either.

**What a day is worth.** A day with n items has the mean y with variance s2 / n + kappa2. s2 is the
variance of an item about its day, kappa2 the wobble of the days. Both are drawn from all raters
towards the rater's own, which counts more with every item and day. kappa2 is what the successive
days of a rater differ beyond the rater's own s2, so that scatter of items is not taken for wobble.

**The evidence.** For today and each possible onset j (30 items before it, 10 since, 250 active days
back at most) y is regressed on a step and on ramps. With theta the shift towards worse, V its
variance and V' = V + omega^2,

    E_j = 2 Phi(theta omega / sqrt(V V')) sqrt(V / V') exp(theta^2 / 2 (1/V - 1/V')),

the Bayes factor of a half-normal shift of scale omega (0.20 in kappa, 0.40 in ranks) against none;
1/2 for the step and 1/6 for each of three ramps. M is the sum of the E_j, on ordered scales a third
each from agreement, up and down. Without drift E_j is 1 on average, M grows by 1 a day at most, and
the mean time until it reaches 5,000 is at least 5,000 days (an e-detector: Shin, Ramdas & Rinaldo
2024, New England Journal of Statistics in Data Science 2, 229-260). At 250 a rater is watched.
Shifts below 0.015 in kappa or 0.02 ranks never count, and skewed scores count for less.

The onset is the j with the largest E_j, the size the step's slope there: the mean since then less
the mean before. Both are told with a set of 95 % that does not take the onset as known, nor forgets
that the day was chosen because the evidence was large (`drift/shift_estimates.py`). An onset
belongs to its
set when a step or ramp that begins there explains the days nearly as well as the best does:
likelihoods at most 40 times apart, profiled over level and size (Siegmund 1988, International
Statistical Review 56, 31-48), all with the variance of the leading onset. The size's interval is
the hull of step +- 2.24 standard errors over the onsets at which a step alone explains the days so
well. A drift that still grows is told by its mean so far; whether it grows cannot be told on that
day. Of 1,000 charts each, run until they rang (`benchmarks/alert_intervals.py`), so many held what
was planted (days: between the first and the last onset of the set; half / size: of the interval):

| drift | rang in 60 days | since when | by how much | days: median | half / size: median |
|---|---|---|---|---|---|
| bias 0.3 | 100% | 98.4% | 99.1% | 17 | 0.64 |
| bias 0.5 | 100% | 99.1% | 98.9% | 6 | 0.53 |
| bias 0.8 | 100% | 99.4% | 99.1% | 3 | 0.38 |
| bias 0.5, 5 items a day | 100% | 99.2% | 99.7% | 31 | 0.69 |
| bias 0.6 growing over 30 days | 100% | 98.2% | 96.3% | 29 | 1.19 |
| kappa -0.15, nominal | 92% | 98.7% | 99.5% | 43 | 0.87 |
| kappa -0.3, nominal | 100% | 99.0% | 99.0% | 11 | 0.66 |
| ... growing over 30 days | 100% | 97.8% | 97.7% | 42 | 1.45 |
| ... 150 items a day | 100% | 100.0% | 98.3% | 6 | 0.54 |
| ... 4 days before it | 46% | 99.6% | 96.9% | 5 | 0.74 |
| kappa -0.15, ordinal | 91% | 99.3% | 99.6% | 41 | 0.77 |
| kappa -0.3, ordinal | 100% | 99.7% | 99.3% | 11 | 0.62 |

**Who.** On the first day on which somebody reaches 5,000 the largest M is alarmed. Then the days
are run again: that rater's ratings since the onset are nobody's peers any more, and the rater's own
chart begins anew after the alarm. So whoever shared items with a drifter is not blamed. The result
does not depend on the order of the rows. Ratings without a time are compared with others and stand
on no chart.

A day on which the guidelines changed begins a new segment for everybody: no onset is looked for
across it. Of an alarm that was answered with *not the rater's fault* the ratings stay peers of
others; the rater's own chart begins anew all the same.

| reason | meaning |
|---|---|
| `too_short` | fewer than 30 compared items before any onset, or 10 since: no alarm can be given |
| `no_peers` | nobody else rated the rater's items |
| `cannot_tell_who` | two raters who have only each other: one alarm names both |

**Cases.** `quality/alerts/` looks through a question when its ratings changed: people's standing
ratings, each on the day on which it was first given; models are neither peers nor alarmed. Every
look begins from all ratings, so the order in which they came does not matter, and a history that is
imported raises what it would have raised. An alarm that no case knows becomes one: same kind and
rater, and days in common or at most 14 apart, are one cause. A case keeps the numbers that it was
raised with; when later ratings would not raise it any more, it says so. Effects and variances are
those of all ratings so far, which the promise takes as known. A question with more than 5,000,000
comparisons (`too_many_comparisons`) is not looked through.

**The status of a rater**: *ask them* (`act`) while an alarm is open or looked at
(`drift`), and while the evidence on gold is at the threshold of a pause
(`gold`); *watch* while one is muted (`drift`), and from evidence 250 on
(`drift`); *unknown* below 30
compared items (`too_few_items`); else *nothing found* (`ok`): not that
the rater is good; a page says *agrees less* instead, and that chance alone does not explain it,
where the whole interval of kappa with the others lies below the funnel. What a case is about stands
beside (`low_agreement`, `same_answer`, `too_fast`), as long as it is not resolved and today's
ratings would raise it still.

**Sensitivity.** A project's alarms ring at an evidence A: 5,000 (*few and sure*, the default),
1,000 or 250 (*many and early*). The promise goes with it: at most one false alarm in A working days
of a rater, 20, 4 or 1 years of 250. An alarm takes about 30 ln(A) / ln(5000) times (s2 + n kappa2)
/ delta^2 of the rater's own compared items, n of them a day, for a shift delta that leaves the
scatter as it is; one that adds scatter, as guessing does, takes up to half as many again.

What was measured stands in [alerts.md](../benchmarks/alerts.md); `manage.py simulate` writes
streams of which it is known who drifted.
"""

_RATERS_TO_CHECK = """\
## Whom to look at first

`metrics.agreement.rater_quality.funnel`, and what the alarms above found, for the page *Raters*.

**Harm** = ratings x max(0, middle - kappa with the others), the middle being the median of the
raters with 30 compared items or more: how many ratings would have to be better, and by how much.
The page begins with the largest.

**The funnel** (Spiegelhalter 2005, Statistics in Medicine 24, 1185-1202). A rater with n compared
items lies within middle -/+ 1.96 s / sqrt(n) in 95 of 100 cases when nothing but chance tells
raters apart; s^2 is the median of n se^2 over the raters, se the standard error of kappa with the
others. Of many raters some lie outside by chance, one in twenty; of raters with thousands of items
many do, because items differ, too: outside is a reason to look, and how far outside says how good a
reason.

**Agree less, nearly always the same answer, too fast.** Who has a case of `rater_apart`,
`rater_same_answer` or `rater_fast` (above) that is not resolved, and that today's ratings would raise
still. There is no other rule.
"""

_OUTLIERS = """\
## Other alarms

`metrics.agreement.outliers`, after drift, and on what is left when all that drifters said since
their onset is taken out. A is the evidence that rings (5,000, see *Sensitivity*). Whatever is
tested is an e-process, at most 1 on average as long as the stated bound holds: whoever is within it
is ever named with a probability of at most 1 / A, at whatever moment and however often one looks
(Ville 1939). Nothing rings before 30 items.

**Apart from the start** (`rater_apart`). The level of a rater is the weighted mean of the agreement
scores above. The bound is the median of the other raters' levels, less 0.1, or less three of their
standard deviations where these are more: 1.4826 times the median absolute deviation, and instead of
3 the t quantile that is as rare, times sqrt(1 + 1/R), for R others (three at least). Raters differ,
and the lowest of many is no outlier. The evidence that the level is below the bound is the Bayes
factor above with omega 0.20. Of somebody who drifted, only the days before count.

**Always the same answer** (`rater_same_answer`). Asked are own ratings of items of which more than half of
the other ratings are not the rater's most used category c. Counted is how often the rater leaves c,
too, against a quarter of how often all others do when they are asked so: E = B(x+1, y+1)
I_p(x+1, y+1) / (p p^x (1-p)^y), x times left and y not, the mean likelihood ratio over all smaller
probabilities. A times the number of categories rings. Whoever met harmless items only is asked
nothing.

**Too fast** (`rater_fast`). A rating is hasty that took less than a quarter of the geometric mean
of the times of others on the same item, or less than raters so different reach (as above, of the
logarithms). Counted are ratings that were not, against one half, with the same E. The items' length
explains nothing: the time is compared item by item.

**The question fell, a pair diverged, a category collapsed** (`question_fell`, `pair_diverged`,
`category_collapsed`). The evidence of drift, over weeks from Monday to Sunday: of the mean residual
d - mu - a_g - a_h of an item's comparisons; of a pair's; of how often others say c, too, where one
rater does; of the share of c (omega a share of that size). Successive weeks are alike, so that the
wobble which their differences show counts twice. An onset needs 4 weeks before it and 2 since. A /
5 weeks ring for the question: at most one false alarm in A working days of a question. Each of n
pairs, and each of k categories in either measure, needs n or 2 k times as much, so that all of them
together ring no more often. A category rings when it lost half of its agreement or nine tenths of
its use.

**Nothing rings twice for one cause.** Of a rater the first of: drift, same answer, too fast, apart;
and while a case of a rater is not resolved, no other kind rings for the same rater. Of a question,
in days that they share, the first of: question, pair, category. When more than half of the raters
at work drifted apart in the days in which the question fell, that rings instead of them.

**Counts.** `ratings_missing`: 20 items or more that the queue asks for, and a tenth of those begun
in the last 60 days, were begun two weeks ago and have fewer ratings than the project wants.
`gold_suspected`: gold answers in doubt (above), all of a question in one case; more of them after
it was resolved are another one.
"""

SECTIONS = (
    _HEADLINE,
    _WORKED_EXAMPLES,
    _MEAN_PAIRWISE,
    _PEERS_AND_TRENDS,
    _GOLD_TO_LABEL_SETS,
    _FINAL_LABELS,
    _DRIFT,
    _OUTLIERS,
    _RATERS_TO_CHECK,
)
