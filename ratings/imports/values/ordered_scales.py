"""Known scales: phrases from lowest to highest, here in English, German, French, Spanish, Chinese.

A scale is a list of steps, and a step is a set of phrases that mean the same. The labels of a
question may be any of its steps.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from .further_scales import FURTHER_SCALES

# A blank line separates scales, "|" the steps, "/" the phrases of a step. Written without accents.
_LISTED_SCALES = """
none/no/absent/nil|trivial/minimal/negligible|minor|mild/slight/light|moderate/medium|major|
severe|very severe|critical/extreme|blocker

none/no|neutral|low|medium/moderate|high

very low|low|moderate|medium|high|very high|critical

very negative|negative|neutral|mixed|positive|very positive

very neg|neg|neu/neut/neutral|mixed|pos|very pos

never|almost never/hardly ever/very rarely|rarely/seldom|occasionally/now and then|sometimes|
regularly|often/frequently|very often|usually/mostly/most of the time|almost always/
nearly always|always/all the time

not at all/no/not|a little/a little bit/slightly/barely|somewhat/partly/partially/
to some extent|moderately/a moderate amount|mostly/quite/quite a bit/rather/considerably|very/
a lot/very much/strongly|extremely/completely/fully/entirely/to a great extent/yes

terrible/awful/horrible|very bad/very poor|bad/poor/weak|fair/mediocre|ok/okay/average/adequate/
acceptable/satisfactory|good|very good/great|excellent|outstanding/perfect/exceptional

much worse/far worse|worse|slightly worse/somewhat worse/a little worse|same/equal/
about the same/no change/unchanged/no difference/similar/tie|slightly better/somewhat better/
a little better|better|much better/far better

much less|less|slightly less/somewhat less|same/equal/about the same/as much|slightly more/
somewhat more|more|much more

impossible/no|very unlikely|unlikely|possible/possibly/maybe|likely/probable|very likely|certain

definitely not/certainly not/definitely no/certainly no|probably not/probably no|no|
maybe/possibly/unsure/undecided/might or might not/perhaps|yes|probably/probably yes|
definitely/certainly/definitely yes/certainly yes

no|maybe/partly/partially/unsure/somewhat/undecided/to some extent|mostly|yes

false|true

sd|d|n/u|a|sa

vl|l|m|h|vh

novice|beginner|intermediate|advanced|expert

incorrect/wrong|mostly incorrect/mostly wrong|partially correct/partly correct|mostly correct|
correct/right

irrelevant/not relevant|marginally relevant/slightly relevant|partially relevant/
partly relevant/somewhat relevant|relevant|highly relevant/very relevant|perfectly relevant/
perfect

unacceptable|below expectations/does not meet expectations/does not meet/fails/fail/insufficient|
partially meets expectations/partially meets/borderline|meets expectations/meets/pass/sufficient|
exceeds expectations/exceeds|pass with distinction/distinction

unacceptable|poor|acceptable|good|excellent/perfect

none/no/zero|few/a few|some|many|most|all

safe|borderline|unsafe

never|once|twice|a few times/several times|many times/often|always

info|notice|warning|error|fatal

debug|info|warning|error|critical

g|pg/p|pg-13|r|nc-17|x

xxs|xs|s|m|l|xl|xxl

l/lo/low|m/mid/med/medium|h/hi/high

benign|likely benign/probably benign|uncertain significance/vus/uncertain/indeterminate|
likely pathogenic/likely malignant/probably malignant|pathogenic/malignant

benign|probably benign|suspicious|highly suspicious|malignant

negative|trace|weak positive/weakly positive|positive|strong positive/strongly positive

a1|a2|b1|b2|c1|c2

primary|secondary|tertiary

daily|weekly|monthly|quarterly|yearly

child|adolescent/teenager|adult|senior

first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth

one|two|three|four|five|six|seven|eight|nine|ten

eins|zwei|drei|vier|funf|sechs|sieben

un|deux|trois|quatre|cinq|six|sept

uno|dos|tres|cuatro|cinco|seis|siete

一|二|三|四|五|六|七

lowest|lower|middle|higher|highest

nie/niemals|fast nie/sehr selten|selten|gelegentlich|manchmal|ofter/regelmassig|oft/haufig|
sehr oft/sehr haufig|meistens/meist|fast immer|immer/stets

keine/kein/nicht vorhanden|minimal|gering/leicht/mild|mittel/massig/moderat|stark/schwer/
ausgepragt|sehr stark/sehr schwer/kritisch

gar nicht/uberhaupt nicht/nicht|kaum|wenig/etwas/ein wenig/ein bisschen|teilweise/massig/
mittelmassig/einigermassen|ziemlich/uberwiegend|sehr/stark|ausserst/vollig/voll und ganz

ungenugend|mangelhaft|ausreichend|befriedigend|gut|sehr gut|hervorragend/ausgezeichnet

sehr schlecht|schlecht|eher schlecht|mittelmassig/mittel/durchschnittlich/neutral|eher gut|gut|
sehr gut|ausgezeichnet/hervorragend

falsch|teilweise falsch|teilweise richtig|richtig

nein|eher nein|vielleicht/teilweise/teils/teils teils/unsicher|eher ja|ja

viel schlechter|schlechter|etwas schlechter|gleich/unverandert|etwas besser|besser|viel besser

anfanger|fortgeschritten|experte

erste|zweite|dritte|vierte|funfte

jamais|presque jamais/tres rarement|rarement|occasionnellement|parfois/quelquefois|
regulierement|souvent/frequemment|tres souvent|la plupart du temps|presque toujours|toujours

aucun/aucune/absent/absente|minime|leger/legere/faible|modere/moderee/moyen/moyenne|important/
importante/fort/forte|severe/grave|tres severe/tres grave/critique

pas du tout|un peu/peu|moyennement|assez/plutot|beaucoup/tres/tout a fait|extremement/totalement/
enormement

tres mauvais/tres mauvaise|mauvais/mauvaise|mediocre/insuffisant/insuffisante|passable|moyen/
moyenne/correct/correcte/suffisant|assez bien/assez bon|bien/bon/bonne|tres bien/tres bon/
tres bonne|excellent/excellente/parfait/parfaite

non|plutot non|peut-etre/peut etre/en partie/ne sait pas|plutot oui|oui

bien pire|pire|un peu pire|pareil/identique/inchange|un peu mieux|mieux|bien mieux/
beaucoup mieux

debutant|intermediaire|avance|expert

nunca/jamas|casi nunca/muy rara vez|rara vez/raramente/pocas veces|ocasionalmente/
de vez en cuando|a veces/algunas veces|regularmente|a menudo/frecuentemente/muchas veces/
con frecuencia|muy a menudo/muy frecuentemente|casi siempre/la mayoria de las veces|siempre

ninguno/ninguna/ausente/nulo/nula|minimo/minima|leve/ligero/ligera|moderado/moderada/medio/
media|importante|grave/severo/severa|muy grave/muy severo/critico/critica

nada/en absoluto|poco/un poco|algo|moderadamente/regular|bastante|mucho/muy|muchisimo/
totalmente/extremadamente

pesimo/pesima|muy malo/muy mala/muy mal|malo/mala/mal/deficiente|regular/aceptable/suficiente|
bueno/buena/bien|muy bueno/muy buena/muy bien/notable|excelente/sobresaliente

no|probablemente no|tal vez/quizas/quiza/parcialmente/en parte|probablemente si|si

mucho peor|peor|algo peor/un poco peor|igual|algo mejor/un poco mejor|mejor|mucho mejor

principiante|intermedio|avanzado|experto

从不/從不/从来不/從來不/从未/從未|几乎从不/幾乎從不/极少/極少|很少/较少/較少|偶尔/偶爾|有时/
有時/有时候/有時候|常常/经常/經常/时常|通常|总是/總是/一直/始终

无/無/没有/沒有|轻微/輕微|轻度/輕度/轻|中度/中等/中|重度/严重/嚴重/重|极重/极严重/非常严重/危重

完全不/一点也不/根本不|稍微/有点/一点|一般|比较/相当|很/非常|极其/极度/完全

极差/極差|非常差/很差|差/较差/不好|一般/中等/及格/普通/还可以|较好/良/良好|好|很好/非常好|优秀/
優秀/优/極好/极好/完美

不及格|及格|中等|良好|优秀

否/不是/不|可能/也许/部分/不确定|是

低|较低|中/中等|较高|高

更差|相同/一样/差不多|更好

错误|部分正确|正确

初级|中级|高级|专家

第一|第二|第三|第四|第五
"""

_STEPS_EN = (
    ("extremely",),
    ("very", "strongly", "totally", "completely", "fully", "absolutely", "entirely", "highly"),
    ("",),
    ("moderately", "mostly", "generally", "quite"),
    (
        "somewhat",
        "slightly",
        "rather",
        "a little",
        "partly",
        "mildly",
        "weakly",
        "tend to",
        "fairly",
    ),
)
_NEUTRAL_EN = (
    "neutral", "neither", "neither nor", "mixed", "undecided", "unsure", "not sure", "no opinion",
    "uncertain", "average", "indifferent", "middle",
)  # fmt: skip
_POLES_EN = (
    ("disagree", "agree"), ("dissatisfied", "satisfied"), ("unsatisfied", "satisfied"),
    ("unlikely", "likely"), ("negative", "positive"), ("bad", "good"), ("poor", "good"),
    ("low", "high"), ("small", "large"), ("small", "big"), ("weak", "strong"), ("short", "long"),
    ("easy", "difficult"), ("easy", "hard"), ("difficult", "easy"), ("unimportant", "important"),
    ("oppose", "support"), ("oppose", "favor"), ("disapprove", "approve"), ("reject", "accept"),
    ("uncomfortable", "comfortable"), ("unclear", "clear"), ("unsafe", "safe"), ("cold", "hot"),
    ("dislike", "like"), ("slow", "fast"), ("unhappy", "happy"), ("unfriendly", "friendly"),
    ("unhelpful", "helpful"), ("harmful", "harmless"), ("toxic", "healthy"), ("rude", "polite"),
    ("unfavorable", "favorable"), ("unnatural", "natural"), ("inaccurate", "accurate"),
    ("unreliable", "reliable"), ("informal", "formal"), ("sad", "happy"),
    ("unpleasant", "pleasant"),
    ("false", "true"), ("incorrect", "correct"), ("liberal", "conservative"), ("left", "right"),
    ("calm", "aroused"), ("untrue", "true"), ("worse", "better"),
)  # fmt: skip
_MIDDLE_EN = ("medium", "med", "mid", "moderate", "average", "middle", "normal", "fair",
              "ok", "okay")  # fmt: skip

_STEPS_DE = (("ausserst", "extrem"), ("sehr", "stark", "vollig", "voll"), ("",), ("eher", "etwas"))
_NEUTRAL_DE = ("neutral", "weder noch", "teils teils", "teils/teils", "unentschieden", "unsicher",
               "weiss nicht", "mittel", "mittelmassig", "gemischt")  # fmt: skip
_POLES_DE = (
    ("unzufrieden", "zufrieden"), ("unwahrscheinlich", "wahrscheinlich"), ("negativ", "positiv"),
    ("schlecht", "gut"), ("unwichtig", "wichtig"), ("niedrig", "hoch"), ("gering", "hoch"),
    ("klein", "gross"), ("schwach", "stark"), ("leicht", "schwer"), ("unklar", "klar"),
    ("einfach", "schwierig"), ("unsicher", "sicher"), ("kurz", "lang"), ("dagegen", "dafur"),
)  # fmt: skip
_STEPS_FR = (("extremement",), ("tres", "totalement", "tout a fait", "fortement"), ("",),
             ("plutot", "assez", "un peu", "legerement"))  # fmt: skip
_NEUTRAL_FR = (
    "neutre",
    "ni l un ni l autre",
    "sans opinion",
    "indecis",
    "moyen",
    "moyenne",
    "mixte",
)
_POLES_FR = (
    ("insatisfait", "satisfait"), ("insatisfaite", "satisfaite"), ("negatif", "positif"),
    ("negative", "positive"), ("mauvais", "bon"), ("mauvaise", "bonne"), ("faible", "eleve"),
    ("faible", "elevee"), ("faible", "fort"), ("faible", "forte"), ("bas", "haut"),
    ("basse", "haute"), ("bas", "eleve"), ("petit", "grand"), ("petite", "grande"),
    ("improbable", "probable"), ("facile", "difficile"), ("mecontent", "content"),
    ("defavorable", "favorable"), ("court", "long"),
)  # fmt: skip
_STEPS_ES = (("extremadamente",), ("muy", "totalmente", "completamente"), ("",),
             ("algo", "bastante", "un poco", "poco", "mas bien"))  # fmt: skip
_NEUTRAL_ES = ("neutral", "neutro", "neutra", "indiferente", "ni uno ni otro", "indeciso", "medio",
               "media", "mixto", "regular")  # fmt: skip
_POLES_ES = (
    ("insatisfecho", "satisfecho"), ("insatisfecha", "satisfecha"), ("negativo", "positivo"),
    ("negativa", "positiva"), ("malo", "bueno"), ("mala", "buena"), ("bajo", "alto"),
    ("baja", "alta"), ("pequeno", "grande"), ("debil", "fuerte"), ("improbable", "probable"),
    ("facil", "dificil"), ("desfavorable", "favorable"), ("corto", "largo"),
)  # fmt: skip
_STEPS_ZH = (("极其", "极", "極", "極其"), ("非常", "完全", "强烈", "強烈", "十分", "很"), ("",),
             ("比较", "比較", "有点", "有點", "有些", "较", "較", "略", "稍微", "偏"))  # fmt: skip
_NEUTRAL_ZH = ("一般", "中立", "中性", "不确定", "不確定", "无所谓", "中", "中等", "普通", "说不清")
_POLES_ZH = (
    ("不同意", "同意"), ("反对", "赞成"), ("反对", "同意"), ("反對", "贊成"), ("不赞成", "赞成"),
    ("不满意", "满意"), ("不滿意", "滿意"), ("不可能", "可能"), ("消极", "积极"), ("负面", "正面"),
    ("負面", "正面"), ("消極", "積極"), ("负向", "正向"), ("差", "好"), ("坏", "好"), ("低", "高"),
    ("不重要", "重要"), ("小", "大"), ("弱", "强"), ("容易", "困难"), ("不清楚", "清楚"),
    ("不符合", "符合"), ("不相关", "相关"), ("不喜欢", "喜欢"), ("短", "长"), ("难", "易"),
)  # fmt: skip


class _ScaleWords(NamedTuple):
    """Words of a language: steps from the strongest, words for the middle, pairs of opposite poles.

    ``weak_negation`` before the high pole is a weak form of the low pole: not very likely.
    """

    steps: tuple[tuple[str, ...], ...]
    neutral: tuple[str, ...]
    poles: tuple[tuple[str, str], ...]
    weak_negation: str
    separator: str = " "


_WORDS = (
    _ScaleWords(_STEPS_EN, (*_NEUTRAL_EN, *_MIDDLE_EN), _POLES_EN, "not very"),
    _ScaleWords(_STEPS_DE, _NEUTRAL_DE, _POLES_DE, "nicht sehr"),
    _ScaleWords(_STEPS_FR, _NEUTRAL_FR, _POLES_FR, "pas tres"),
    _ScaleWords(_STEPS_ES, _NEUTRAL_ES, _POLES_ES, "no muy"),
    _ScaleWords(_STEPS_ZH, _NEUTRAL_ZH, _POLES_ZH, "不太", separator=""),
)

# Agreement is phrased in ways that no rule builds.
_AGREEMENT_SCALES = """
stimme uberhaupt nicht zu/stimme gar nicht zu/stimme absolut nicht zu/
stimme ganz und gar nicht zu/lehne stark ab/lehne vollig ab|stimme nicht zu/lehne ab|
stimme eher nicht zu/stimme weniger zu/lehne eher ab|weder noch/teils teils/neutral/
unentschieden/stimme teilweise zu/stimme teils zu/weiss nicht|stimme eher zu/stimme etwas zu|
stimme zu/stimme uberwiegend zu|stimme voll und ganz zu/stimme vollig zu/stimme voll zu/
stimme vollkommen zu/stimme stark zu/stimme sehr zu/stimme vollstandig zu

trifft uberhaupt nicht zu/trifft gar nicht zu|trifft nicht zu/trifft kaum zu|
trifft eher nicht zu/trifft weniger zu|weder noch/teils teils/neutral/unentschieden/
trifft teilweise zu|trifft eher zu/trifft etwas zu|trifft zu/trifft uberwiegend zu|
trifft voll und ganz zu/trifft vollig zu/trifft voll zu/trifft genau zu/trifft sehr zu

pas du tout d accord/tout a fait en desaccord/fortement en desaccord/totalement en desaccord|
pas d accord/en desaccord|plutot pas d accord/plutot en desaccord/un peu en desaccord|
ni d accord ni pas d accord/ni en accord ni en desaccord/ni d accord ni en desaccord/neutre/
indecis/sans opinion|plutot d accord/un peu d accord/assez d accord/plutot en accord|d accord/
en accord|tout a fait d accord/fortement d accord/totalement d accord/entierement d accord/
tres d accord/tout a fait en accord

totalmente en desacuerdo/completamente en desacuerdo|muy en desacuerdo|en desacuerdo|
algo en desacuerdo/parcialmente en desacuerdo|ni de acuerdo ni en desacuerdo/
ni en desacuerdo ni de acuerdo/neutral/neutro/indeciso/indiferente|algo de acuerdo/
parcialmente de acuerdo|de acuerdo|muy de acuerdo|totalmente de acuerdo/completamente de acuerdo

非常不同意/强烈不同意/完全不同意/強烈不同意|很不同意|不同意|不太同意/有点不同意/比较不同意/
部分不同意|一般/中立/不确定/既不同意也不反对/无所谓/中性/普通|比较同意/有点同意/部分同意/
比較同意|同意|很同意|非常同意/强烈同意/完全同意/強烈同意

非常不满意/完全不满意|很不满意|不满意|不太满意/比较不满意|一般/中立|比较满意/基本满意|满意|
很满意|非常满意/完全满意
"""


_SCALE_TEXTS = (_AGREEMENT_SCALES, _LISTED_SCALES, FURTHER_SCALES)


def normalize_phrase(label: str) -> str:
    """Return a label in lower case without accents, punctuation or a remark in brackets."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label.strip()).casefold()
    text = re.sub(r"\s*[(\[（][^)\]）]*[)\]）]$", "", text) or text
    decomposed = unicodedata.normalize("NFKD", text)
    text = "".join(char for char in decomposed if not unicodedata.combining(char))
    return re.sub(r"[\s_/,.;:!'’–—-]+", " ", text).strip()


@cache
def list_known_scales() -> list[dict[str, int]]:
    """Return phrase -> step of each known scale; the phrases are normalized."""
    scales = [
        _build_scale([step.split("/") for step in text.replace("\n", "").split("|")])
        for text in "\n".join(_SCALE_TEXTS).strip().split("\n\n")
    ]
    for words in _WORDS:
        scales += [_build_scale(_build_steps(low, high, words)) for low, high in words.poles]
    return scales


def _build_steps(low: str, high: str, words: _ScaleWords) -> list[list[str]]:
    """Return the steps from the strongest form of ``low`` to the strongest form of ``high``."""
    middle = [*words.neutral, f"neither {low} nor {high}", f"neither {high} nor {low}"]
    lower = [_build_phrases(step, low, words.separator) for step in words.steps]
    lower[-1].append(f"{words.weak_negation}{words.separator}{high}")
    upper = [_build_phrases(step, high, words.separator) for step in reversed(words.steps)]
    return [*lower, middle, *upper]


def _build_phrases(step: tuple[str, ...], pole: str, separator: str) -> list[str]:
    """Return the phrases for a pole: each word of a step, before the pole and after it."""
    phrases = [f"{word}{separator}{pole}".strip() for word in step]
    return phrases + [f"{pole}{separator}{word}" for word in step if word]


def _build_scale(steps: list[list[str]]) -> dict[str, int]:
    scale: dict[str, int] = {}
    for position, phrases in enumerate(steps):
        for phrase in phrases:
            scale.setdefault(normalize_phrase(phrase), position)
    return scale
