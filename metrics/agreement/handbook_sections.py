"""Texts of the handbook about everything except the coefficients, one a subject, in page order."""

from .headline import TABLE

_HEADLINE_TABLE = "| reason | scale | raters | complete | coefficient |\n|---|---|---|---|---|\n"
_HEADLINE_TABLE += "\n".join(
    f"| `{row.reason}` | {', '.join(row.scales)} | {row.raters} | {row.complete} | "
    f"{row.coefficient} |"
    for row in TABLE
)
_HEADLINE = """\
## Headline coefficient

The scale of a question and its raters determine which coefficient pages and API show first:

{table}

*Complete* means that every item with a rating was rated by all raters. On ordinal scales,
Krippendorff's alpha is shown next to the headline. Where the headline is weighted, its value
without weights is shown with it, and the lead is asked once to confirm quadratic weights that
nobody chose. A project lead can choose another coefficient and state the reason (`chosen`).

**Trends.** For two raters, Cohen's kappa and the ICC are exact in each period. They use the table
of the first rater against the second, by the later of the days of both ratings. The ICC of three or
more raters needs the margins of every rater in every period. No stored count contains these
margins, and storing them would make every rating of a question more expensive for the sake of one
line in a chart. The trend then shows alpha with the metric of the scale, and the page says so.

Alpha and ICC(A,1) are closely related. Let v be the mean variance within raters, c the mean
covariance of two raters, and b the variance of the R raters' means. Apart from terms of order 1/n,
alpha is 1 - (v - c + b) / (v + (R - 1) b / R), and ICC(A,1) is 1 - (v - c + b) / (v + b). The two
are equal where raters have the same level. Where they do not, alpha is lower.

**Filters.** For a selection of ratings, Fleiss' kappa replaces Cohen's kappa (for two raters it is
Scott's pi), and alpha replaces the ICC.

## People and models

Where people and models rate a question, its statistics are those of the people: the headline, the
insights, and each rater against peers, who are then people only. Next to the headline, Concord
shows the same coefficient among the models, and *between* people and models on the items that both
rated.

Let u_i and v_i be the shares of the categories among the people's and the models' ratings of item
i. P_o is the mean of u_i'W v_i, and P_e is u'W v of the means u and v. With one rater in each
group, the coefficient is Cohen's kappa. Vanbelle & Albert 2009, Psychometrika 74, 477-491 define
the same P_o and P_e. W contains the weights of the coefficient: for alpha 1 - distance in its
metric, for the ICC squared differences of values. The standard error uses the delta method over
items, with t(n - 1).
""".replace("{table}", _HEADLINE_TABLE)

_MEAN_PAIRWISE = """\
## Mean pairwise kappa by shared items

`mean_pairwise_kappa` is the unweighted mean of the kappas of all pairs (Light's kappa). A pair with
one shared item counts as much as a pair with a thousand, so the first rating of a new rater can
change the mean by 0.2. `mean_pairwise_kappa_by_items` weights each pair by the number of items that
both raters rated. The pages show this mean.

Its standard error is sqrt(V_r + V_i). V_r is the jackknife variance over raters. V_i is the
delta-method variance over items, with pooled margins. The sum counts the residual of a rater on an
item twice, so the interval tends to be too wide rather than too narrow. The degrees of freedom
follow Satterthwaite.

`benchmarks/coverage_mean_pairwise.py` simulates the coverage: the share of intervals that contain
the mean over all raters. Each row has 2,000 intervals, with new raters and items in every
replicate:

| raters | items | rated | coverage | mean width |
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
## Worked examples from texts on kappa

To create a small project for each example, run `manage.py load_example --worked` or use the button
*Worked examples*. Some texts print wrong values. The table lists the printed and the correct
values:

| example | printed | correct |
|---|---|---|
| two raters, five items, two categories | kappa 0.615 | 0.615 [-0.27, 1], as printed |
| two raters, five items, three grades, quadratic weights | table 1,1,0 / 1,2,0 / 0,0,1 of six | \
1,1,0 / 1,1,0 / 0,0,1 of five; kappa 9/14 = 0.643, not 11/17 = 0.647 |
| ten labels, a case study | table 3,2 / 2,3; P_o 0.6; kappa 0.2 | 4,1 / 2,3; 0.7; 0.4 |
| ten labels, from code | nothing | kappa 0.4 |
| ten critics, one painting, 7 to 3 | P_o 24/45 | P_o 24/45, Fleiss' kappa -1/9, alpha 0; no \
interval, because there is a single item |
| a nurse whose readings are always 5 higher | any index of agreement is low | ICC(A,1) 0.978, \
ICC(C,1) 1, percent agreement 0: it depends on how much the patients differ |
| quadratic weights on scores, 80 cases in four grades | weighted kappa is the ICC | it is Lin's \
concordance correlation; ICC(A,1) is nearly the same: 0.7666 and 0.7689 by rank, 0.7213 and \
0.7239 where the grades have the mean gold score of their cases, 5, 6, 10 and 25 |
"""

_PEERS_AND_TRENDS = """\
## One rater against peers

Three statistics compare a rater with all other raters of the same items:

* `vs_peers`: the kappa of the table of the rater's own category against every other rating of the
  same items. Williams 1976, Biometrics 32, 619-627 introduced the agreement of one rater with a
  group.
* `vs_peers_percent`: the percent agreement of this table.
* `vs_peers_bias`: the mean signed difference, own less others, in category values or ranks.

The standard errors use the delta method with items as clusters (Liang & Zeger 1986, Biometrika 73,
13-22). They follow exactly from additive integer counts. On scales with more than 12 categories
these counts are not stored. The interval is then wider, because it treats the other raters of an
item as if they gave identical ratings.

The values over the whole time are stored. The values of a day, a week or a month are computed on
request, by the same formulas, from the counts of its days. A rating counts on the day from which on
it can be compared: its own, or that of the first rating by another rater of the item, if that came
later.

## Trend of a question

An item counts in the period in which its *second rating by the raters shown* came. From then on it
can be compared. Later ratings change its counts, but move it to no other period, and ratings by
models move no item of the people. Where models rate as well, people, models and all raters have
days of their own; people and models are compared from the later of the days of the first person and
the first model. An item with one rating is in no period. It enters the expected agreement of the
values over the whole time and of the cumulative line.

## Two raters over time

An item that both raters rated belongs to the day of the later rating. `mean_difference` is the mean
of first less second rater, in category values or ranks. Its standard error is s / sqrt(n) over the
items of the period, and its interval uses t(n - 1). Concord reports a drift at the period that
splits the series most clearly, if the means before and after differ by more than three standard
errors and by more than 0.15.

## Recent weeks of a question

Lists of questions show the headline of the last 12 weeks, Monday to Sunday, as the trend does.
Weeks with fewer than 10 items are left out. The change over 4 weeks is the mean of the last four
weeks, weighted by items, less the mean of the four weeks before. An item belongs to one week only,
so the standard error is that of two independent means. A change of up to two standard errors is
marked "This may be chance". With three or more categories, the list also shows the two categories
that are confused beyond their frequencies, if there are such (see below).

## Sentences about the results

A sentence has a rule, and a test on data where it holds and on data where it seems to hold:

* *A rater agrees less with the others than these do with each other on the same items.* On an item
  with three ratings or more, d is the mean weight of the rater's pairs with the others less that
  of the others' pairs. If the rater's answers are exchangeable with theirs, the mean of d is 0,
  however hard the item is, and its variance and skewness follow from the m values of d on the item.
  The sum over the rater's items (30 or more, 10 of them with a disagreement) is tested one-sided at
  1% over all raters (Bonferroni), with half of it for each of two weights of a pair of ratings j
  and l: w_jl, and its influence on kappa, (w_jl - (1 - kappa) (e_j + e_l)) / (1 - e) with e_j =
  sum_l p_l w_jl and e = sum_j p_j e_j (Fleiss, Cohen & Everitt 1969), where p and kappa are those
  of all ratings of the rater's items. With the second, the mean of d is nearly the rater's kappa
  with the others less that of these with each other: who nearly always gives the frequent answer
  agrees often, but hardly beyond chance. It must be negative, and -0.1 or less where the second
  test alone is significant. Among raters of the same items the values of d add up to 0, so never
  are all of them below. Beside two raters who copy from each other everybody is below them, so the
  test must also hold without each other rater of a fifth of the items or more, as long as enough
  items remain. Of more than 100,000 ratings, those of the newest items are tested. Items with two
  ratings do not show which of the two raters agrees less, nor whether the items are hard.
* *Two categories are confused*: the pair has 40% of all comparisons that differ or more, 1.5 times
  the share that the frequencies of the categories give, and the excess over items is significant at
  1% over all pairs (Bonferroni). Frequent categories differ often by chance; Roberts & McNamee
  1998, Statistics in Medicine 17, 471-488 relate each pair to its margins in the same way.
* *The value depends on the definition*: Fleiss' kappa with chance by rating, with chance by item,
  and alpha differ by more than 0.05. The page then begins with the three values, and has no word.
* *No word for the value*: fewer than 10 compared items have another answer than the most frequent
  one, or there are too few items, or the interval is too wide. The same holds on every page, in
  reports and in the command. A rater's own value has no word: it depends on the rater's items.
* *The statistics agree*: there is no other sentence, and kappa, alpha and AC1 are defined and in
  one band or in two that adjoin.
* *Weights matter*: the values differ by 0.1 or more and lie in different bands. *Weights hardly
  matter*: neither. Otherwise only the values are stated. All this on ordered scales of three
  categories or more, where the value has a word. Elsewhere weights have no meaning.
* *Raters are consistent but on different levels*: ICC(C,1) is 0.6 or more and above ICC(A,1), and
  the F test of raters says so at 1%.
* *Much agreement is expected by chance*: 80% of the comparisons and of the items agree, and AC1 is
  0.2 above kappa. The percentage is that of all comparisons, whose number is stated.
* *Pairs of raters differ in how often they use the categories*: the Stuart-Maxwell test of a pair
  is significant at 1% over all pairs (Bonferroni).
* *Agreement fell, rose, or may have changed by chance*, and *without a rater, a category or a group
  of items agreement would have gone from ... to ...*: see *Attribution of a change*.
* *Agreement ...; team median ...* states two values. *Agrees far less* needs an unresolved
  alert.
* *Rates higher or lower than the others*: the rater's bias differs from that of the median rater
  beyond chance over all raters, and so does the rater's level without those of the others.
* *Below the expected range* needs a kappa below the funnel's lower limit. *On the same items, kappa
  differs* is said of raters whom the test of low agreement covers and does not list; the number
  is the estimated difference from the others' kappa with each other. Its 95% interval is of this
  rater alone. It may lie below 0, *not enough to flag*: the test allows for the number of raters,
  asks for 0.1 in kappa where the plain agreement is not lower, and must find the rater whichever
  other rater is left out.
* *Alert confirmed on* a day: a lead has confirmed the alert, and the ratings still support it. A
  rater without another finding then has the label *Confirmed* instead of *OK*.
* *Check* names raters with an alert, a bias, low agreement on the same items, too few equal repeats
  or a failed exam. If all of more than three raters are to check, none is named.
* *Discuss disputed items*: there is no other task, and the value is in the lower half of the bands
  or its interval below the target. *Export labels*: there is no task at all.
* *Above* or *below the target*: the whole interval lies there. A word for the value holds *with 95%
  probability* if the lower half of the interval does not reach below it.
* Sentences in a report on what must not be claimed each have one condition, in
  `metrics/views/reports/cautions_and_methods.py`. Sentences of alerts are about the figures of the
  alert.

`benchmarks/bench_null_sentences.py` simulates studies in which nothing is the case. The share of
false sentences over the designs (20, 60 and 200 items; 2, 3 and 6 raters; prevalence 5, 20
and 50%; errors of 3, 15 and 40%) is given here for 400 studies each. The largest share of the
designs lies above the true rate by chance. *Above* counts the designs in which so many sentences
have a probability below 5% over all designs (binomial, Bonferroni), if the goal is met:

| sentence | designs | goal | measured, mean | largest | above |
|---|---|---|---|---|---|
| agreement fell or rose | 81 | 5% | 4.2% | 8.2% | 0 |
| a rater agrees less with the others | 54 | 1% | 0.3% | 1.2% | 0 |
| two categories are most confused | 81 | 1% | 0.0% | 0.0% | 0 |

## Attribution of a change

Concord says that agreement *fell* or *rose* only if a permutation test says so: the items of both
periods are assigned to them at random 999 times, and the change divided by its standard error is
among the largest 5%. If no item's ratings depend on its period, this is exact for any number of
items and any prevalence. Otherwise the page says what agreement *was* in both periods.

*Guidelines > Effect* compares the headline coefficient under the latest six versions of the
guidelines, each on the days between two changes. The day of a change is left out. The interval of a
change comes from the intervals of both values (Zou & Donner 2008, Statistics in Medicine 27,
1693-1702), with Bonferroni's correction for the number of changes. A change is *rose* or *fell* if
it excludes 0, and otherwise *no clear change*. Raters and items of both periods may differ, which
the page says.

Concord attributes a change of Fleiss' kappa between two periods by leaving out. The contribution of
a rater, a category or a group of items is the change on all ratings, less the change that remains
without their ratings in both periods. A joint effect of two raters appears in both contributions or
in neither, so contributions need not add up to the change.

Sentences name a rater, category or group only if the change is beyond chance, and the contribution
differs from the median one by a t test at 5% over all raters, categories or groups (Bonferroni;
delete-a-group jackknife over ten parts of the items: Kott 2001, Journal of Official Statistics 17,
521-526), and both the contribution and this difference are a fifth of the change or more. If one of
five raters changes, leaving out any other one changes the result as well, which says nothing about
that rater.

Next to the contributions, the page lists the pairs of raters whose mean signed difference on shared
items (10 or more in each period) changed, at a level of 1% over all pairs (t test, Bonferroni).
Weighted kappa may hardly show such a change.
"""

_GOLD_TO_LABEL_SETS = """\
## Gold and blind repeats

`metrics.agreement.rater_quality.gold` compares a rater's answers with gold answers:

* *Score*: accuracy with Wilson's interval, Cohen's kappa of own x gold next to the agreement
  expected by chance, and the mean of own less gold.
* *Exam*: Wald's sequential test of being right 6 against 8 times in 10, with an error probability
  of 1 in 20 on both sides. A rater who is undecided after the last question passes if the log
  likelihood ratio is 0 or more. This truncation has a cost. An exam of at most 50 questions passes
  6.6% of the raters who are right 6 times in 10, and an exam of 80 questions passes 5.0%. They fail
  6.8% and 4.4% of the raters who are right 8 times in 10 (`exam_pass_probability`, exact). The page
  with the exam rules shows these figures for the rules chosen there.
* *Pause*: the evidence is an e-process against the hypothesis that the rater is right with
  probability p0 or more. The evidence on such a rater ever reaches 100 with probability 1/100 at
  most, however often you look.
* *Suspected gold*: a gold answer is suspected when the raters' answers, weighted by their accuracy
  on all *other* gold answers, make another category more probable.

`metrics.agreement.rater_quality.repeats` computes Cohen's kappa of the first x second rating of the
same rater. The value of a project is stratified by rater (Barlow, Lai & Azen 1991).

**Repeats in a project.** A repeat is either the answer to an item that Concord showed to the same
rater again, compared with the rating at that moment, or a second row of an imported file that you
chose to store as a repeat. Repeats use the weights of the question. On interval and ratio scales,
each rater's ICC(A,1) of first and second answer, with its F interval, is shown next to kappa. The
value of the project is then the stratified kappa with quadratic weights of the values, which this
correlation approaches (Fleiss & Cohen 1973). Models that ran twice have their own values, which do
not enter the values of the project.

**Gold in a project.** An answer is the current rating of an item with a gold answer in force, or
the answer to an item that was shown as hidden gold. Answers are evaluated in the order of
`rated_at`. A gold answer can allow several categories. Each of them is right, and counts for
accuracy and evidence. On an ordered scale, a question can have a tolerance: answers up to so many
steps (ordinal), or up to this difference of values (interval, ratio), from a gold answer are right,
too, in scores, exams and gates. Only gold answers with a single category enter the table own x
gold, and so kappa, bias and the categories; kappa and bias ignore the tolerance. The accuracy by
chance is the one that the rater's shares of answers reach at random on these items.
Gold answers that are shares of categories are not scored. A suspected gold answer enters no score
until a lead decides. With fewer than 5 answers, Concord shows only their number and the interval.

## One label per item

`metrics.agreement.consensus` estimates one label per item by three methods:

* *Majority*: the most frequent category, or null (`tied`) if several are equally frequent.
* *Weighted majority*: the category with the largest weight. The weight of a vote is the rater's log
  odds of being right.
* *Dawid & Skene's model* (1979): estimates the category of each item and the error rates of each
  rater. Each row of a rater's table has ten pseudo-ratings, 7 of them right. The estimation starts
  from the items' shares of ratings and ends when no probability changes by more than 1e-8; after
  ten rounds every third one is extrapolated from the two before it (Varadhan & Roland 2008), so
  that the result is the maximum also where plain rounds hardly move. The model assumes that raters
  err independently of each other, given the true category. They seldom do: with ten ratings per
  item or more, the confidences are far too high (table), and only gold answers show by how much.

Concord checks the calibration of the model's confidences. It holds out one rating of every item
with three or more ratings and predicts it. If the label probabilities T are too certain, so that
T^tau with tau < 1 predicts better by two standard errors, the page shows this. Held-out ratings
show a part of the error only, because they share the errors that all raters make.

With gold answers of 30 items or more (each with two ratings or more, and without a decision), T of
a model that does not know them is calibrated on them instead. It becomes the mean of
(1 - e) T^tau + e / k over the powers tau from 0.01 to 1 and the shares e of items that mislead all
raters, from 0 to 1/2, each as probable as the gold answers make it (temperature scaling: Guo,
Pleiss, Sun & Weinberger 2017, ICML; Bayesian model averaging, with a uniform prior of log tau and
an exponential one of e with mean 0.1). The confidence of a label is its probability. Above 1/2 it
is at most what the gold answers show: the largest level L for which, among the gold items whose
labels have a probability of L or more, the lower 75% limit of the share of right labels (Jeffreys;
Brown, Cai & DasGupta 2001) is L or more. So the promise of a level is false in about one of four
projects at most, whatever misleads raters, and in one of ten of the data sets below. The page shows
on how many gold answers the confidence is based. It holds for items of the same kind, so draw gold
items at random.

One threshold says which labels are uncertain: the confidence threshold of the label rules, 0.90
unless you change it. Extra ratings and planned queues use it, and so do review and inbox, which
list items with two ratings or more; *Labels* and *Review* show how many have only one.

The table lists the wrong labels in % of the items with gold, the expected percentage with T^tau and
with 100 gold answers drawn at random (40 draws; the others are measured), how many of the labels
with a confidence of 0.95 or more are right, and in how many draws fewer than 95% are. All columns
and the sources are in [consensus.md](../benchmarks/consensus.md):

| data set | items | ratings per item | majority | weighted | Dawid-Skene | expected with T^tau |
|---|---|---|---|---|---|---|
| CF | 300 | 6 | 11.8 | 11.3 | 12.0 | 5.4 |
| CF_amt | 300 | 20 | 14.7 | 15.0 | 14.3 | 1.0 |
| MS | 700 | 4 | 29.6 | 20.3 | 22.1 | 11.7 |
| SP | 4,999 | 6 | 11.4 | 9.0 | 8.5 | 3.2 |
| SP_amt | 500 | 20 | 5.7 | 5.6 | 5.6 | 0.5 |
| ZenCrowd_all | 2,040 | 10 | 17.1 | 15.2 | 20.5 | 5.1 |
| AdultContent2 | 333 | 8 | 24.2 | 23.7 | 24.3 | 5.1 |
| ducks | 240 | 40 | 31.2 | 39.6 | 39.2 | 0.2 |

| data set | right without gold | expected, 100 gold | certain | goal | right | goal | fewer right |
|---|---|---|---|---|---|---|---|
| CF | 97% | 11.3 | 24% | >= 95% | 98% | <= 10% | 0% |
| CF_amt | 89% | 13.1 | 30% | >= 95% | 99% | <= 10% | 0% |
| MS | 86% | 27.1 | 0% | >= 95% | none certain | <= 10% | 0% |
| SP | 95% | 9.9 | 31% | >= 95% | 97% | <= 10% | 0% |
| SP_amt | 95% | 5.1 | 77% | >= 95% | 98% | <= 10% | 0% |
| ZenCrowd_all | 85% | 20.4 | 0% | >= 95% | none certain | <= 10% | 0% |
| AdultContent2 | 82% | 25.5 | 0% | >= 95% | none certain | <= 10% | 0% |
| ducks | 61% | 31.7 | 0% | >= 95% | none certain | <= 10% | 0% |

**Without gold answers confidence does not hold**: of the labels certain to 0.95, 61 to 97% are
right, and up to 14 times as many labels are wrong as expected, or more. Held-out ratings and the
dependence of the raters' errors given the labels (an intraclass correlation of 0.03 to 0.14, which
would divide the weight of ratings by 1 + (m - 1) times that) temper to much the same degree, and
neither sees errors that all raters share. So page and command say that they are often too high.

With gold answers, a confidence of 0.95 means it. Few gold answers show less: a limit of 0.95 needs
13 right ones in a row, a third of 40. Of the most certain third of the labels of MS 93% are right,
so that no rule finds 95% there with 40 gold answers; it can only seldom claim to. Some labels are
certain in one of ten draws (the goal), 4% on average, of which 90% are right. Without the limit by
gold answers, some labels of MS, ZenCrowd and AdultContent2 are certain, of which 87 to 94% are
right.

Gold answers that agree with the labels leave them certain. Four raters who are right in 85% of 120
items of five categories, 40 of which have gold answers, and of 80 studies:

| misleading | wrong | expected | from 0.9 | right | goal | no label | from 0.95 | right | goal |
|---|---|---|---|---|---|---|---|---|---|
| 0% | 2.2% | 4.9% | 92% | 99.6% | >= 90% | 0% | 84% | 99.9% | >= 95% |
| 2% | 4.5% | 6.9% | 85% | 97.3% | >= 90% | 4% | 49% | 97.7% | >= 95% |
| 4% | 6.5% | 9.0% | 72% | 95.1% | >= 90% | 16% | 31% | 95.7% | >= 95% |

*misleading*: items whose raters all err alike; *from 0.9*: labels with this confidence; *no label*:
studies in which less than a tenth of the labels has it.

With a uniform prior of e and a limit at 90%, as before, 12% and 39% of the studies in the last two
rows had hardly any certain label at 0.90, and 59% and 86% at 0.95. The prior and the limit were
chosen on these data, so the figures are somewhat optimistic.

Interpret these figures with care. No method is best on all data sets, and the raters' consensus is
not always the gold answer. Held-out ratings measure how well *raters* are predicted. Only gold
answers show an error that all raters share.

## Sample size and planning

`metrics.agreement.sample_size` computes the smallest number of items at which the 95% interval is
as narrow as you want. Pages and the command use the interval shown so far: half its width divided
by 1.96 (by t in clusters), at least the standard error. Before there are data, they use an assumed
kappa and table (Bloch & Kraemer 1989, otherwise the delta method). The error of a study is not
known in advance, so these numbers suffice in about half of all studies. Pages and the command
therefore show numbers with *assurance* (Zou 2012, Statistics in Medicine 31, 3972-3981): 9 of 10
studies reach the width. Before data, studies of the assumed table are simulated. After data, the
standard deviation of the logarithm of this error comes from the bootstrap over items. Two
pseudo-items, spread over all pairs of answers, are added to the items, because few items that agree
do not show that no others exist. `benchmarks/planning_assurance.py` measures in 6 designs how many
studies have an interval as narrow as wanted: the goal is 90%, and 94 to 95% are reached before
data, 93 to 100% after a pilot of 60 items. The page calls the numbers rough where the interval
shown is more than 25% wider than by the standard error. All figures are in
[planning.md](../benchmarks/planning.md). Of items in clusters, the plan is for further clusters of
the present size: the error is that of clusters, and t has the degrees of freedom of their number.
In one of ten pilots of C clusters the true error is larger than theirs by sqrt((C - 1) / chi2),
where chi2 is the 10% quantile with C - 1 degrees of freedom; s^2 grows by the variance with which
exp(z_.9 s) is this factor. `manage.py plan` prints the design effect, too.

The error of a small pilot is itself uncertain, most of all with weights, where it depends on a few
large differences. The page therefore also shows the number that is expected if the error stays as
it is. Where the true error exceeds the one so far by more than 25% in one of ten studies, the two
numbers lie far apart: the page then gives the number of items whose error is known better, to be
rated before you plan again (`expected`, `rate_first` of `manage.py plan`).

The effect of fewer ratings per item follows from exact thinning of the rating patterns, up to the
number of ratings that four of five compared items have. The value of a further rating is the
information that it gives about the label, in nats.

You can plan the order of a queue (`quality/planning/planned_queues.py`):

* *Labels*: items come first whose next rating is most informative about their category, given the
  pooled confusion matrix of all raters. Labels from the confidence threshold on need no more.
* *Narrow*: items get the number of ratings that makes the interval narrow with the fewest ratings
  in total, before other items begin. The choice of items depends only on their number of ratings.

In both orders, one item in ten is drawn at random. Items that were selected because they are
uncertain lower every coefficient. The headline therefore leaves out the ratings that an order for
labels requested, and the ratings beyond the planned number of an item (requested because its label
is uncertain, or by a lead). This applies while the order is in use and afterwards. The headline
then uses the remaining ratings and states their number, and the coefficient of all ratings is shown
next to it. The random sample is drawn from the items whose slots the order has left open. Where the
order has filled the slots of uncertain items, earlier ratings of these items still count.

The table shows simulations on real ratings: the ratings needed in % of those needed in random
order. The full table with its settings is in [planning.md](../benchmarks/planning.md):

| data set | items | ratings per item | certain labels | narrow interval |
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

Where items have only three ratings and a certain label needs all of them (sxs_mqm_ende), planning
saves nothing. With few items, a narrow interval needs nearly all ratings of all items in any order.
A certain label is not always right. On act_weather_amt, compared with the labels from all ratings,
the planned order reached 87.5% when its labels were as certain as those of the random order, which
reached 92.7%.

## Comparisons

`metrics.agreement.comparison` offers three comparisons:

* *Two sets of items*: the difference of their Fleiss' kappas, with t and Welch's degrees of
  freedom. Items in both sets enter with their covariance. A permutation test over items is shown
  next to it.
* *Replacement of a human by a model*: the alternative annotator test (Calderon, Reichart & Dror
  2025), from three integers per human.
* *A model among humans*: the agreement of the model with the humans less the agreement of the
  humans with each other, each corrected for its own chance agreement. The standard error is
  computed over items.

## Mean of several raters and sets of labels

`metrics.agreement.coefficients.intraclass.mean_reliability` estimates the variances of items,
raters and the residual from three mean squared differences. With complete ratings, the
reliabilities are ICC(A,m) and ICC(C,m). `metrics.agreement.label_sets` computes alpha between sets
of labels with Jaccard's distance and MASI (Passonneau 2006), for up to 64 different sets, and the
alpha of each label.

| reason | meaning |
|---|---|
| `no_gold_ratings` | there is no answer to a gold item |
| `no_repeats` | no rater rated anything twice |
| `tied` | several categories are equally frequent, or equally probable |
| `needs_three_raters` | a model needs at least two humans to compare with, each with enough items |
| `needs_crossed_ratings` | no pairs have the same item, or none the same rater, or none neither |
| `no_reliability` | items do not differ more than raters do, so no number of raters is enough |
| `too_many_sets` | there are more than 64 different sets; only the labels have an alpha |
"""

_FINAL_LABELS = """\
## Final labels

`quality/consensus/` gives each item one label: its review decision if there is one, otherwise its
gold answer if that allows a single category, otherwise the label that its ratings give. By default
only people's ratings count. A lead can include models. Decisions and gold answers are fixed in the
model, so that it learns from them which raters are right.

| method | label | confidence |
|---|---|---|
| Dawid and Skene (default) | the median on ordered scales, otherwise the mode | its probability |
| majority, weighted by skill | the category with the largest weight; `tied` if several | none |
| majority | the most frequent category; `tied` if several | none |

The model is always fitted to all ratings from the same starting values. The labels are therefore a
function of the ratings and do not depend on their order of arrival. With one rater, or without an
item with two ratings, nothing can be estimated (`no_pairable_items`), and the label is the majority
without a confidence. The *expected errors* of a set of labels are the sum of 1 - confidence.

To measure the agreement of two adjudicators, a share of the decided items is shown to a second
person, without the first decision. Concord computes Fleiss' kappa of first decisions and second
opinions under the weights of the question, with its interval. The sample contains decided items,
which are the difficult ones, so it does not describe easy items.
"""

_DRIFT = """\
## Drift of a rater

`metrics.agreement.drift` detects raters who began to rate differently than before, and estimates
since when. Proved is that **sampling noise raises at most one alert in 5,000 working days of a
rater**, which are 20 years of 250 days. This holds for each rater, however often you look. For R
raters, the expected numbers of such alerts add up. That a rater is not named for what is common to
all raters, such as harder items, is not proved but simulated (see *Own and common falls*).

**Score of an item.** Rater g is compared with every other rater h of the item. There are two
scores:

* `agreement`: (w - e) / (1 - e). w is the identity on nominal scales and linear on ordered scales.
  e is the agreement expected from the pooled shares.
* `bias`, on ordered scales with three or more categories: rank own - rank other, clipped to -2..2.

The level of h is removed: d_gh is fitted as mu + a_g + s a_h (s = 1 for agreement, -1 for bias),
with a ridge of 10 comparisons per rater, and x is the mean of d_gh - s a_h. A change of peers is
therefore not a drift. From agreement, the effect that the week had on all other raters is removed
as well, shrunk by how much weeks differ. A difficult week is therefore not a drift either.

**Variance of a day.** A day with n items has the mean y with variance s2 / n + kappa2. s2 is the
variance of an item about its day, and kappa2 is the variance of the days. Both are shrunk from the
rater's own estimate towards the estimate of all raters. The own estimate gains weight with every
item and day. kappa2 is how much successive days of a rater differ beyond the rater's own s2, so
that the scatter of items is not mistaken for a variation of days.

**Evidence.** For today and each possible onset j, y is regressed on a step and on ramps. An onset
needs 30 items before it and 10 since, and lies at most 250 active days back. With theta the shift
in the tested direction, V its variance and V' = V + omega^2,

    E_j = 2 Phi(theta omega / sqrt(V V')) sqrt(V / V') exp(theta^2 / 2 (1/V - 1/V')),

is the Bayes factor of a half-normal shift of scale omega (0.20 in kappa, 0.40 in ranks) against no
shift. The step has weight 1/2, and each of three ramps has weight 1/6. M is the sum of the E_j. On
ordered scales, a third each comes from agreement, up and down. Without drift, E_j is 1 on average,
M grows on average by at most 1 a day, and the mean time until M reaches 5,000 is at least 5,000
days (an e-detector: Shin, Ramdas & Rinaldo 2024, New England Journal of Statistics in Data Science
2, 229-260). From 250 on, a rater is watched. Shifts below 0.015 in kappa or 0.02 ranks never count,
and skewed scores count for less.

**Onset and size.** The onset is the j with the largest E_j. The size is the slope of the step
there: the mean since the onset less the mean before. Both have a 95% set that does not treat the
onset as known, and that allows for the day having been selected because its evidence was large
(`metrics/agreement/drift/shift_estimates.py`):

* An onset belongs to its set if a step or ramp that begins there explains the days nearly as well
  as the best one does: the likelihoods, profiled over level and size, differ by a factor of 40 at
  most (Siegmund 1988, International Statistical Review 56, 31-48). All onsets are evaluated with
  the variance of the leading onset.
* The interval of the size is the hull of step +- 2.24 standard errors over the onsets at which a
  step alone explains the days that well. The size of a drift that still grows is its mean so far.
  Whether it still grows cannot be decided on that day.

`benchmarks/alert_intervals.py` simulates 1,000 charts per row, each until it raises an alert. The
table shows how many were detected and how often the sets contain the true onset and size. *Days*
counts from the first to the last onset of the set, and *half / size* is the half-width of the
interval relative to the size:

| drift | alert in 60 days | onset | size | days: median | half / size: median |
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

**Which rater.** On the first day on which any rater reaches 5,000, the rater with the largest M
gets an alert. Then the days are run again: that rater's ratings since the onset no longer count as
peers of others, and the rater's own chart restarts after the alert. A rater who only shared items
with a drifting rater therefore gets no alert. The result does not depend on the order of the rows.
Ratings without a time are compared with others but appear on no chart.

**Own and common falls.** A rater is named for a fall of agreement only if it goes beyond that of
the others since the same onset (difference in differences). From x, the mean residual d - mu - a_h
- a_h' of the others with each other, without the rater on either side, is subtracted. There are
three versions: on the same day, on the same items (with three or more ratings), and on items with
the same value of an attribute (up to 5 attributes with up to 50 values). A common fall of size c is
expected to be c times the rater's level before the onset by that of the others (0.5 to 2), with a
standard deviation of 0.25 c, because raters follow a common change unequally. The Bayes factor E_j
of the rest, at the onset of the alert, must be at least 5, and at least the fourth root of that of
the whole fall (up to 10,000), in each version that at least half of the rater's items can test.
Otherwise the rater is not named, and the alert is that of the question (below), whatever the number
of raters concerned. A bias is a difference between raters, which a common change leaves as it is.
With two raters only, or with two ratings an item and no attributes, less can be tested.

**Goals.** `benchmarks/bench_alerts.py` simulates 25 kinds of change and items in documents of 10 to
300 items (*innocents* are raters who did not change), and drifts of one of 20 raters. All rows are
in [alerts.md](../benchmarks/alerts.md):

| simulation | goal | measured |
|---|---|---|
| items or all raters change, in 20 ways | innocents in <= 5% of rater-years | 0.6%, worst 4.3% |
| items in documents, with clusters | innocents in <= 5% of rater-years | 0.0% (up to 96% without) |
| drift of one or two raters | named >= 90% | 96 to 100% |
| drift of one rater, items in documents | named >= 90% | 95 to 100% |
| bad newcomers | named >= 90% | 96 to 99% |
| copies | named >= 80% | 92 to 98% |
| bias 0.3 ranks, median of own items until the alert | <= 320 | 314 |
| bias 0.5 ranks | <= 150 | 133 |
| kappa -0.3, nominal and ordinal | <= 250 | 166 and 174 |
| kappa -0.15, nominal | <= 650 | 586 |
| kappa -0.15, ordinal | <= 650 | 701 |

One goal is missed: a small fall on an ordinal scale takes 50 items more than wanted, because two
thirds of the evidence belong to the channels of bias. An oracle that knows level, size and
variances takes 226. Asking less for the rater's own part of a fall, or for the evidence, would name
more innocents, so the rule stays.

A day on which the guidelines changed begins a new segment for all raters, and no onset is estimated
across it. If you answer an alert with *not the rater's fault*, the ratings remain peers of others,
and the rater's own chart restarts as well.

| reason | meaning |
|---|---|
| `too_short` | fewer than 30 compared items before any onset, or 10 since: no alert is possible |
| `no_peers` | no other rater rated the rater's items |
| `cannot_tell_who` | two raters share items only with each other: one alert names both |

**Alerts.** `quality/alerts/` scans a question when its ratings have changed. It uses people's
current ratings, each on the day on which it was first given. Models neither serve as peers nor get
alerts. Every scan starts from all ratings, so their order of arrival does not matter, and an
imported history raises the alerts that it would have raised at the time. Detections of the same
kind and rater have one cause, and one alert, if their days overlap or are at most 14 days apart. An
alert keeps the numbers with which it was raised. If later ratings would not raise it any more, it
says so. The effects and variances are those of all ratings so far, and the guarantee treats them as
known. A question with more than 5,000,000 comparisons (`too_many_comparisons`) is not scanned.

**Status of a rater.** The most severe status applies:

* `act`: an alert about the rater is open or acknowledged (`drift`, `low_agreement`, `newcomer`,
  `same_answer`, `too_fast`, `copies`), or the evidence on gold has reached the threshold of a pause
  (`gold`). A confirmed alert stays acknowledged until the rater is paused or somebody resolves it.
  Every rater with this status is in the inbox, unless paused: by the alert, by a proposed warning
  or pause, or by name. Raters to check are one row per question, with the impact of the first;
  a rater whom a lead marks as checked, or whose alert is resolved, leaves it for 30 days.
* `check`: an alert about the rater is muted, or the evidence of drift has reached 250 and is not
  that of a common fall (`drift`), or the 95% interval of the accuracy on five or more gold answers
  is below the pass mark (`gold`). Also if the rater answers opposite to the others (`reversed`),
  rates higher or lower (`harsh`, `lenient`, `higher`, `lower`), agrees less with the others than
  these do with each other on the same items (`low_agreement`, unless an alert, opposite answers,
  the same answer or a bias states the cause, see below; the filter *Low agreement* lists them all),
  almost always gives the same answer (`same_answer`), seldom repeats their own answers (`self`), as
  defined below, or did not pass the latest attempt at the exam (`exam`).
* `unknown`: the rater has fewer than 30 compared items, or agreement is undefined (`not_enough`).
* `ok`: there is no reason. It does not mean that the rater is good. A rater below the funnel may
  have harder items than the others: the note says whether the test on the same items covered the
  rater. The latest alert that a lead has confirmed remains as a note, and as a flag in the charts,
  as long as the ratings support it.

**Higher or lower than the others** (`harsh`, `lenient`, ordered scales). The bias of a rater is the
mean difference from the others on the same items. One harsh rater makes all others appear lenient,
so it is compared with the median bias of the raters with 30 or more compared items (three at
least). Both the bias and its distance from the median must be at least 0.3 standard deviations of
all answers, between a small and a medium effect (Cohen 1988). The distance must also be significant
at 5% for the question: a z test with Bonferroni's correction for the R raters. Its variance is se^2
+ (pi / 2) / R times the median se^2, the second part that of the median. The pages show the bias
itself with its 95% interval, and the category whose share in the rater's answers differs most from
its share in the others' answers. Of two raters nobody is named. Who shares items with a harsh rater
alone looks lenient. So the raters' levels are also estimated from the pairs, by least squares of
the mean difference of two raters = level less level, weighted by shared items; the level must
differ from the median level of the raters connected by shared items (three at least) by as much,
and beyond its own error. Raters who almost always give the same answer (see below) have no level of
their own, and are left out of this estimate. A rater with higher answers is harsh where words such
as *minor*, *severe* or *poor* are in the labels of the upper half of the scale, or words such as
*good* in those of the lower half, and lenient where it is the other way round. Where no label says
so, the reason is `higher` or `lower`.

Where the bias is significant and the own level is not, the page says so, with the level as the
distance from the median level: these others rate high, or low.

**Bias and low agreement.** A guesser on a skewed scale has a bias, too. A bias shifts the answers,
and leaves their correlation with those of the others as it is; that of a guesser is 0. So a bias
explains low agreement only if the answers correlate with those of the others at least half as much
as these do with each other (pooled over the pairs that share items, in values or ranks). Otherwise
`low_agreement` comes first and the bias second, if the rater agrees less on the same items, or
kappa is below the funnel. The second condition needs no test of its own: the bias has passed one,
so nobody has the status `check` who would not have it by the bias alone. In 2,000 simulated
questions of six raters and 30 items on four grades, the correlation was below half for 98.6% of the
guessers, for none of the raters who were one grade too harsh, and for none of the others.

**Answers opposite to the others** (`reversed`, ordered scales and two categories). The kappa with
the others with quadratic weights is below 0 for a rater whose answers fall where those of the
others rise, whatever the rater's level: its sign is that of the covariance. It must be below 0
beyond chance (z test at 5% for the question, Bonferroni's correction for the raters, 30 compared
items or more). Over all pairs with the rater, the answers must correlate by -0.3 or less, and over
all pairs of these other raters by 0.3 or more: where half of the raters oppose the other half, and
of two raters, nobody is named. The reason is as severe as one of `low_agreement`, `newcomer` or
`gold`, which it explains.

**Almost always the same answer** (`same_answer` without an alert). Of the raters with 30 or more
compared items, one is named whose most frequent answer has at least 0.9 of the answers, who leaves
it at most a quarter as often as the others on the same items (these in a fifth of their answers or
more), and less often than chance explains with their share: a binomial test at 5% for the
question (Bonferroni's correction for the raters). No alert is raised: `rater_same_answer` asks for
far more evidence, and keeps its promise. The text says that the evidence is too little for it.
Where the others give other answers in less than a fifth, nobody is named for this alone, but the
same rule then states the cause of a bias, of low agreement, or of an alert on it: the reason is
`same_answer`, as severe as what it explains.

**Inconsistent with oneself** (`self`). Of the raters with ten or more repeated items (three at
least), one is named whose share of equal second answers lies more than 0.05 below the median share,
by Wilson's upper limit at 5% for the question (Bonferroni's correction for the raters). The median
is of the raters whose most frequent answer has less than 0.9 of the answers to repeated items: a
single answer repeats itself.

**Sensitivity.** The sensitivity of a project sets the evidence A at which alerts are raised: 5,000
(`low`, the default), 1,000 (`medium`) or 250 (`high`). The guarantee changes with it: at most one
false alert in A working days of a rater, which are 20, 4 or 1 years of 250 days. An alert takes
about 30 ln(A) / ln(5000) times (s2 + n kappa2) / delta^2 of the rater's own compared items, n of
them a day, for a shift delta that leaves the scatter unchanged. A shift that adds scatter, such as
guessing, takes up to half as many again.

The measured results are in [alerts.md](../benchmarks/alerts.md). To generate streams of ratings
with known drift, run `manage.py simulate`.
"""

_RATERS_TO_CHECK = """\
## Raters to check

The *Raters* page combines `metrics.agreement.rater_quality.between_raters` with the alerts above.

**Impact** is the expected number of a rater's wrong ratings, each counted by how wrong it is: the
sum over all ratings of the rater of sum_j P_j d(j, own answer). d is 1 for different categories
where no weights apply. Otherwise it is 1 less the weight of the headline's kappa, divided by its
largest value, so that a near miss counts in part; it is 0 within the tolerance of gold answers. P
is the probability of each category of the item, as in the labels (see *One label per item*): 1 for
the category of a decision or a gold answer, otherwise the calibrated probability from all ratings
of the item, or the share of votes where the labels are votes. One definition holds whatever the
status and its reasons, so it changes little when others add a few ratings, and never exceeds the
number of ratings. Good raters have errors, too: the status comes first in the order of the raters,
and impact second. The accuracy on *Estimated rater errors* counts a near miss as wrong. Without
labels there is no impact yet. The inbox ranks alerts about raters by the same number.

**Funnel** (Spiegelhalter 2005, Statistics in Medicine 24, 1185-1202). If raters differ by chance
alone, a rater with n compared items lies within median -/+ 1.96 s / sqrt(n) in 95 of 100 cases. s^2
is the median of n se^2 over the raters, and se is the standard error of kappa with the others. Of
many raters, one in twenty lies outside by chance. Of raters with thousands of items, many lie
outside, because items differ as well. The chart names nobody: a rater with the hard items lies
below the funnel, too.

**Low agreement, same answer, too fast, agrees too often.** A rater has this mark while an alert
`rater_apart`, `newcomer_below`, `rater_same_answer`, `rater_fast` or `rater_copies` (see above) is
unresolved and the current ratings still support it. Low agreement is also marked by the status.
"""

_OUTLIERS = """\
## Other alerts

`metrics.agreement.outliers` runs after drift detection, without the ratings that drifting raters
gave since their onset. A is the evidence at which alerts are raised (5,000, see *Sensitivity*).
Every test is an e-process, which is at most 1 on average as long as the stated bound holds. A rater
within the bound is therefore ever named with a probability of at most 1 / A, at any time and
however often you look (Ville 1939). No alert is raised before 30 items.

**Low agreement from the start** (`rater_apart`). The level of a rater is the weighted mean of the
agreement scores above. The bound is the median of the other raters' levels, less the larger of 0.1
and three of their standard deviations. The standard deviation is 1.4826 times the median absolute
deviation. The factor 3 is replaced by the t quantile with the same tail probability, times sqrt(1 +
1/R), for R others (three at least). Raters differ, and the lowest of many is not an outlier. The
evidence that the level is below the bound is the Bayes factor above, with omega 0.20. For a rater
who drifted, only the days before the onset count. If at least half of the rater's items have two
other ratings, the level less that of the others on the same items must be below its bound, too (E
at least 5): whoever gets the hard items is not an outlier.

**Newcomer below the team** (`newcomer_below`). A newcomer began after three other raters had 30
compared items each. The level is that of the first 30 to 300 compared items (clear cases are named
within 100), less that of the others with each other on the same days. The bound is the median of
those other raters' levels, less the larger of 0.1 and 1.28 of their standard deviations (with the t
quantile as above). An alert needs E = 20, at every sensitivity: of newcomers at the bound or above,
at most one in 20 is ever named.

**Two raters agree too often** (`rater_copies`). If raters err independently, the agreement of two
of them in kappa units is the product of their levels, l_g l_h. The levels are fitted to all other
pairs by least squares, weighted by their comparisons. Tested is the mean of d - l_g l_h over 30 or
more common items. The bound is the median of the other pairs, plus the larger of 0.05 and 2.5 of
their standard deviations (by the median absolute deviation, without the noise of their
comparisons). If at least half of the items have a third rating, the excess over what the two share
with the third raters must exceed the bound by two standard errors, too: easy items are no copies.
Otherwise the same holds with levels fitted on items of two ratings; of two who share such items
with nobody else, nothing is said. Kappa by the margins of the two alone must exceed it by two
standard errors as well: two who nearly always give the same answer agree without copying. An alert
needs E = 100 times the number of pairs: of questions in
which nobody copies, at most one in 100 ever gets one. At least six pairs of raters are needed in
practice (four raters), without those whom another rule names: two good raters agree far more with
each other than with one who always answers the same. The data show neither who copied nor that
anybody did. Errors are not
independent where two raters know what most others do not: of the 53 people of the ducks data, the
two who agree far more than expected (on 94% of 240 pictures) are the ones who know ducks from geese
and grebes.

**Same answer** (`rater_same_answer`). The test uses the rater's ratings of items for which more
than half of the other ratings are not the rater's most used category c. It counts how often the
rater gives another category than c, too, and compares this with p, a quarter of how often all other
raters do so in the same situation. With x ratings other than c and y equal to c, E = B(x+1, y+1)
I_p(x+1, y+1) / (p p^x (1-p)^y) is the mean likelihood ratio over all smaller probabilities. An
alert needs A times the number of categories. A rater without such items is not tested.

**Too fast** (`rater_fast`). The test compares a rating's time with the geometric mean of the times
of others on the same item. A rating is hasty if it took less than a quarter of that mean, or a
smaller fraction where the raters' speeds vary more (the bound above, on logarithms). The test
compares the share of ratings that are not hasty with one half, using the same E. The length of
items does not matter, because times are compared item by item.

**Agreement of a question fell, a pair diverged, a category collapsed** (`question_fell`,
`pair_diverged`, `category_collapsed`). The evidence is that of drift, over weeks from Monday to
Sunday. It is computed for:

* the question: the mean residual d - mu - a_g - a_h of the comparisons of an item
* a pair of raters: the same residual for the pair
* a category c: how often others give c where one rater does, and the share of c among all ratings
  (with omega equal to that share)

Successive weeks are correlated, so the variation that their differences show counts twice. An onset
needs 4 weeks before it and 2 since; only such onsets count. For the question, the threshold is A /
5 weeks: at most one false alert in A working days of a question. Each of n pairs needs n times as
much, and each of k categories in either measure 2 k times as much, so that all of them together
raise no more false alerts. A category raises an alert when it lost half of its agreement, and half
of it beyond chance, since the agreement of a category that becomes rare falls by itself; or nine
tenths of its use. A pair is named only if it fell beyond all other pairs of the same weeks, of the
same items and of items with the same value of an attribute, and beyond each of the two raters with
third raters in the same weeks: whoever gets the hard items agrees less with everybody. The Bayes
factor of the rest must be n times as large as for drift, because the pair that fell most is tested.

**One alert for one cause.** For a rater, Concord raises only the first of: drift, same answer, too
fast, newcomer below the team, low agreement, agreement too often. While an alert about a rater is
unresolved, no other kind is raised for the same rater. For a question, it raises only the first of:
question, pair, category, among alerts that share days. The agreement of a question is that without
the ratings of drifting raters since their onset, so both may be named, and each alert mentions the
other. If nothing tells which of two raters moved, and the agreement of the question fell, the alert
of the question replaces theirs.

**Counts.** Two alerts are counts, not tests:

* `ratings_missing`: at least 20 items of the queue, and at least a tenth of those begun in the last
  60 days, were begun two weeks ago or earlier and have fewer ratings than the project requires. It
  is raised on the day on which this becomes true, also if nobody rates any more.
* `gold_suspected`: suspected gold answers (see above), all of a question in one alert. Further ones
  after it was resolved raise a new alert.
"""

_GATES = """\
## Gates

A gate compares measures of a question with limits. A rule passes when the low end of its 95%
interval is at or above the limit, fails when the high end is below it, and is otherwise undecided.
The gate passes if all rules pass, and fails if one of them fails.

Who asks after every batch and stops at the first interval above the limit is wrong far more often
than 1 time in 20. Therefore the interval of a gate is a *confidence sequence*: in 95% of all cases
it contains the true value at all numbers of items at once, however often you ask and whenever you
stop. It is that of the normal mixture (Robbins 1970, Annals of Mathematical Statistics 41,
1397-1409; Howard, Ramdas, McAuliffe & Sekhon 2021, Annals of Statistics 49, 1055-1080), for
estimates whose errors are sums over items (asymptotic confidence sequences: Waudby-Smith, Arbour,
Sinha, Kennedy & Ramdas 2024, Annals of Statistics 52, 2613-2640):

    z(n) = sqrt((1 + rho / n) (log(1 + n / rho) - 2 log(0.05)))

standard errors take the place of 1.96. rho = 24.4 makes it narrowest near 200 items, where z is
3.03; it is 3.8 for 20 items and 3.2 for 1,000. The ends of the interval shown move z(n) / 1.96
times as far away, in the way in which those of items in clusters do.

* **Coefficients**: the interval that pages show, of items in clusters where the project has them.
* **Gold accuracy** (`gold_accuracy`): the share of right answers among all answers of people to
  items with gold. Wilson's interval, where the answers to one item count as a cluster.
* **Label confidence** (`label_certainty`): the mean confidence of the labels of all rated items,
  which is the expected share of right labels. Wilson's interval. It is wider than needed, because a
  mean of probabilities varies less than a share.
* **Coverage** (`coverage`): the share of items that have the wanted number of ratings; **open
  alerts** (`open_alerts`): their number. Both are counted and have no uncertainty.

`benchmarks/bench_gates.py` simulates two categories, 2 to 5 raters and 1,000 gates in each of 72
cases: prevalence 0.1, 0.3 and 0.5, and a look after each 10, 25 or 50 items. Kappa is exactly the
limit, so that each pass is false. Share of the gates that pass at any of 200 looks:

| limit | raters | interval of one look | goal | sequence, mean | sequence, worst |
|---|---|---|---|---|---|
| 0.6 | 2 | 15% to 20% | <= 5% | 0.6% | 1.3% |
| 0.6 | 3 | 17% to 21% | <= 5% | 0.7% | 1.0% |
| 0.6 | 4 | 14% to 22% | <= 5% | 0.9% | 1.3% |
| 0.6 | 5 | 17% to 21% | <= 5% | 0.6% | 1.2% |
| 0.8 | 2 | 14% to 19% | <= 5% | 0.4% | 0.8% |
| 0.8 | 3 | 14% to 23% | <= 5% | 0.6% | 0.9% |
| 0.8 | 4 | 14% to 20% | <= 5% | 0.5% | 0.8% |
| 0.8 | 5 | 15% to 20% | <= 5% | 0.7% | 1.2% |

The price is items: 2 to 2.4 times as many as for a single look. Items until half of the gates have
passed, with three raters and a prevalence of 0.3:

| kappa | limit | one look | look after each 10 or 20 items | ratio |
|---|---|---|---|---|
| 0.75 | 0.6 | 70 | 170 | 2.4 |
| 0.70 | 0.6 | 170 | 380 | 2.2 |
| 0.90 | 0.8 | 110 | 250 | 2.3 |
| 0.85 | 0.8 | 480 | 980 | 2.0 |

The items that an undecided rule still needs are those at which the sequence leaves the limit, if
the value and its error stay as they are; about half of such questions need more.
"""

_COVERAGE = """\
## Coverage of the intervals

`benchmarks/bench_coverage.py` simulates studies whose true value is known: 10, 20, 50 and 200
items; 2, 3 and 5 ratings an item; 2 and 5 categories; one category of share 0.05, 0.2 or 0.5; kappa
0, 0.4, 0.8 and 0.95. That is 288 cells, here with 4,000 studies each. Any two ratings of an item
have this kappa. Studies in which the coefficient is undefined are left out. Coverage is the share
of intervals that contain the true value; a false interval lies wholly above or below it. Of
`fleiss_kappa`:

| items | goal | measured |
|---|---|---|
| 10 | mean coverage >= 0.94 | 0.958 |
| 10 | worst coverage >= 0.80 | 0.888 (5 ratings, 2 categories, share 0.05, kappa 0.95) |
| 10 | false on one side <= 0.12 | 0.112 |
| 10 | without width: never | 0.000 |
| 20 | mean coverage >= 0.94 | 0.959 |
| 20 | worst coverage >= 0.85 | 0.901 (5 ratings, 2 categories, share 0.05, kappa 0.95) |
| 20 | false on one side <= 0.12 | 0.099 |
| 20 | without width: never | 0.000 |
| 50 | mean coverage >= 0.94 | 0.957 |
| 50 | worst coverage >= 0.85 | 0.934 (5 ratings, 2 categories, share 0.05, kappa 0.8) |
| 50 | false on one side <= 0.12 | 0.062 |
| 50 | without width: never | 0.000 |
| 50 | median width <= 1.25 x published | 1.22 |
| 200 | mean coverage >= 0.94 | 0.953 |
| 200 | worst coverage >= 0.85 | 0.936 (3 ratings, 2 categories, share 0.5, kappa 0.95) |
| 200 | false on one side <= 0.12 | 0.049 |
| 200 | without width: never | 0.000 |

The width is the median over the cells, relative to the same median of the published interval, which
is too narrow in many cells: it covers 76% on average at 20 items and 84% at 50, and in the worst
cells 8% and 20%. In the median cell of 50 items the interval shown is 1.08 times as wide.

Two categories can be enumerated instead of simulated. With two ratings an item, the exact coverage
of Fleiss' kappa is 96.3% on average and 94.2% at worst at 20 items, and 95.7% and 93.8% at 50. With
three ratings and 20 items, it is 95.7% and 91.3%, and that of alpha 96.1% and 91.3%.

Other coefficients, at 10, 20 and 50 items with 2 and 3 ratings; 400 studies a cell for the mean
pairwise kappa:

| coefficient | items | mean | worst | one side | no width |
|---|---|---|---|---|---|
| goal | 10 | >= 0.94 | >= 0.80 | <= 0.12 | never |
| goal | 20, 50 | >= 0.94 | >= 0.85 | <= 0.12 | never |
| fleiss_kappa_linear | 10 | 0.958 | 0.890 | 0.110 | 0.000 |
| fleiss_kappa_linear | 20, 50 | 0.959 | 0.920 | 0.080 | 0.000 |
| fleiss_kappa_gwet | 10 | 0.957 | 0.887 | 0.113 | 0.000 |
| fleiss_kappa_gwet | 20, 50 | 0.958 | 0.916 | 0.084 | 0.000 |
| krippendorff_alpha_nominal | 10 | 0.968 | 0.888 | 0.112 | 0.000 |
| krippendorff_alpha_nominal | 20, 50 | 0.961 | 0.920 | 0.080 | 0.000 |
| krippendorff_alpha_interval | 10 | 0.964 | 0.875 | 0.125 | 0.000 |
| krippendorff_alpha_interval | 20, 50 | 0.963 | 0.909 | 0.091 | 0.000 |
| gwet_ac1 | 10 | 0.972 | 0.934 | 0.046 | 0.000 |
| gwet_ac1 | 20, 50 | 0.964 | 0.929 | 0.050 | 0.000 |
| percent_agreement | 10 | 0.964 | 0.922 | 0.068 | 0.000 |
| percent_agreement | 20, 50 | 0.962 | 0.932 | 0.056 | 0.000 |
| cohen_kappa | 10 | 0.961 | 0.932 | 0.068 | 0.000 |
| cohen_kappa | 20, 50 | 0.959 | 0.918 | 0.082 | 0.000 |
| cohen_kappa_linear | 10 | 0.966 | 0.933 | 0.063 | 0.000 |
| cohen_kappa_linear | 20, 50 | 0.961 | 0.909 | 0.091 | 0.000 |
| vs_peers | 10 | 0.967 | 0.914 | 0.086 | 0.000 |
| vs_peers | 20, 50 | 0.962 | 0.941 | 0.059 | 0.000 |
| mean_pairwise_kappa_by_items | 10 | 0.993 | 0.950 | 0.050 | 0.000 |
| mean_pairwise_kappa_by_items | 20, 50 | 0.992 | 0.942 | 0.058 | 0.000 |

The larger sides belong to the share 0.05 and kappas of 0.8 and 0.95, where half of the studies of
10 items have no value because nobody uses the rare category. A rater against peers has a value of 0
and no interval where the rater or the peers use one category alone (in up to 74% of the studies of
a cell of 10 items). Such studies are left out, too: with an interval, the exact probabilities of
all 3,003 outcomes of 10 items and two peers put 14% of the studies with a value on one side at
kappa 0.9; without them it is at most 3%. (The 0.125 of alpha is 0.107 with 40,000 studies.)

**Incomplete designs.** `benchmarks/coverage_incomplete_icc.py` simulates items and raters with
normal effects. Items have 0.3 to 0.9 of the variance, raters 0.05 to 0.3; the rows have the
coverage of the worst of four such pairs, 300 studies each. *Grades* are rounded to whole standard
deviations:

| items | raters | ratings per item | values | goal | ICC(A,1) | ICC(C,1) | ICC(A,k) | ICC(Q,k) |
|---|---|---|---|---|---|---|---|---|
| 20 | 5 | 2 | normal | >= 0.90 | 0.950 | 0.930 | 0.950 | 0.950 |
| 20 | 5 | 3 | normal | >= 0.90 | 0.930 | 0.920 | 0.930 | 0.930 |
| 50 | 4 | 2 | normal | >= 0.90 | 0.940 | 0.947 | 0.940 | 0.957 |
| 50 | 10 | 3 | normal | >= 0.90 | 0.947 | 0.933 | 0.947 | 0.947 |
| 50 | 10 | 3 | grades | >= 0.90 | 0.937 | 0.920 | 0.937 | 0.940 |
| 50 | 30 | 2 | normal | >= 0.90 | 0.947 | 0.940 | 0.947 | 0.943 |
| 50 | 6 | half of the raters | normal | >= 0.90 | 0.950 | 0.933 | 0.950 | 0.947 |
| 200 | 10 | 2 | normal | >= 0.90 | 0.937 | 0.917 | 0.937 | 0.937 |
| 200 | 50 | 3 | normal | >= 0.90 | 0.937 | 0.937 | 0.937 | 0.937 |

**Items in clusters.** `benchmarks/coverage_clusters.py` simulates documents of ten items that
differ in how often raters agree, in the shares of the categories (topic), or in both, with the
stated intraclass correlation (ICC); 2 and 3 ratings, 2 and 5 categories, kappa 0.4 and 0.8; 2,000
studies each of six cells. *Independent items* is the coverage without clusters:

| documents | dependence | independent items | goal | measured, mean | worst | effect |
|---|---|---|---|---|---|---|
| 12 | difficulty, ICC 0.3 | 0.81 | >= 0.93 | 0.954 | 0.942 | 2.3 |
| 12 | topic, ICC 0.3 | 0.94 | >= 0.93 | 0.977 | 0.967 | 1.3 |
| 12 | both, ICC 0.3 | 0.80 | >= 0.93 | 0.951 | 0.945 | 2.5 |
| 12 | difficulty, ICC 0.6 | 0.71 | >= 0.93 | 0.943 | 0.930 | 3.7 |
| 20 | difficulty, ICC 0.3 | 0.81 | >= 0.93 | 0.952 | 0.945 | 2.3 |
| 20 | topic, ICC 0.3 | 0.94 | >= 0.93 | 0.965 | 0.955 | 1.2 |
| 20 | both, ICC 0.3 | 0.79 | >= 0.93 | 0.945 | 0.940 | 2.5 |
| 20 | difficulty, ICC 0.6 | 0.71 | >= 0.93 | 0.948 | 0.938 | 3.6 |
| 50 | difficulty, ICC 0.3 | 0.82 | >= 0.93 | 0.952 | 0.945 | 2.3 |
| 50 | topic, ICC 0.3 | 0.94 | >= 0.93 | 0.960 | 0.953 | 1.2 |
| 50 | both, ICC 0.3 | 0.79 | >= 0.93 | 0.947 | 0.936 | 2.4 |
| 50 | difficulty, ICC 0.6 | 0.71 | >= 0.93 | 0.953 | 0.945 | 3.6 |

Planned from a pilot of such documents (kappa 0.6, difficulty, ICC 0.3), with assurance:

| pilot | half-width | items | goal | measured |
|---|---|---|---|---|
| 12 documents | ±0.06 | 2,824 | >= 90% | 94% |
| 20 documents | ±0.06 | 2,287 | >= 90% | 94% |
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
    _GATES,
    _COVERAGE,
)
